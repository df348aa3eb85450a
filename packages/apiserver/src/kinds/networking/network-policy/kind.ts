import { NetworkPolicy } from "@dray/api/networking/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { networkPolicyColumns } from "./columns.ts";

export const networkPolicy: ServedKind<NetworkPolicy> = defineServedKind(NetworkPolicy, {
  facts: { generation: true },
  columns: networkPolicyColumns,
});
