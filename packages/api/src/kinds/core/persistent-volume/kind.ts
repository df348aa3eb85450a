import { PersistentVolume } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultPersistentVolume } from "./defaults.ts";
import { persistentVolumeValidation } from "./validation.ts";
import { volumeWarnings } from "./warnings.ts";

export const persistentVolume = defineKind(PersistentVolume, {
  defaults: defaultPersistentVolume,
  validation: persistentVolumeValidation,
  warnings: volumeWarnings,
});
