import { Lease } from "@dray/api/coordination/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { leaseColumns } from "./columns.ts";

export const lease: ServedKind<Lease> = defineServedKind(Lease, {
  facts: { createOnUpdate: true, needsVersion: true },
  columns: leaseColumns,
});
