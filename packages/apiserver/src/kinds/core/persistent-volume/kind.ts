import { PersistentVolume } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import { persistentVolumeColumns } from "./columns.ts";
import { persistentVolumeStrategy } from "./strategy.ts";

export const persistentVolume = defineServedKind(PersistentVolume, {
  facts: { status: "keep", answersDeleted: true },
  strategy: persistentVolumeStrategy,
  columns: persistentVolumeColumns,
});
