import { PersistentVolume } from "@dray/api/core/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { persistentVolumeColumns } from "./columns.ts";
import { persistentVolumeStrategy } from "./strategy.ts";

export const persistentVolume: ServedKind<PersistentVolume> = defineServedKind(PersistentVolume, {
  facts: { status: "keep", answersDeleted: true },
  strategy: persistentVolumeStrategy,
  columns: persistentVolumeColumns,
});
