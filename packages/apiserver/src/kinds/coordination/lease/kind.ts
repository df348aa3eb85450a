import { Lease } from "@dray/api/coordination/v1";
import { defineServedKind } from "../../define.ts";
import { leaseColumns } from "./columns.ts";

export const lease = defineServedKind(Lease, {
  facts: { createOnUpdate: true, needsVersion: true },
  columns: leaseColumns,
});
