import { NetworkPolicy } from "@dray/api/networking/v1";
import { defineServedKind } from "../../define.ts";
import { networkPolicyColumns } from "./columns.ts";

export const networkPolicy = defineServedKind(NetworkPolicy, {
  facts: { generation: true },
  columns: networkPolicyColumns,
});
