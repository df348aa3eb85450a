import { ReplicaSet } from "@dray/api/apps/v1";
import { defineServedKind } from "../../define.ts";
import { replicaSetColumns } from "./columns.ts";

export const replicaSet = defineServedKind(ReplicaSet, {
  facts: { status: "keep", scale: true, generation: true },
  columns: replicaSetColumns,
});
