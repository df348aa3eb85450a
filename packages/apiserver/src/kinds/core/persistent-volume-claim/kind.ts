import { PersistentVolumeClaim } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import { persistentVolumeClaimColumns } from "./columns.ts";
import { persistentVolumeClaimStrategy } from "./strategy.ts";

export const persistentVolumeClaim = defineServedKind(PersistentVolumeClaim, {
  facts: { status: "keep", answersDeleted: true },
  strategy: persistentVolumeClaimStrategy,
  columns: persistentVolumeClaimColumns,
});
