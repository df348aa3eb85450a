import { ResourceSlice } from "../../../generated/resource/v1.ts";
import { quoted } from "../../../text/quoted.ts";
import { defineKind } from "../../define.ts";
import { defaultOldSlice, defaultSlice } from "./defaults.ts";
import { checkSlice, checkSliceUpdate } from "./validation.ts";

export const resourceSlice = defineKind(ResourceSlice, {
  defaults: defaultSlice,
  versionDefaults: { v1beta1: defaultOldSlice },
  validation: { create: checkSlice, update: checkSliceUpdate },
  warnings: ({ spec }) =>
    spec.driver && spec.driver !== spec.driver.toLowerCase()
      ? [
          `spec.driver: driver names should be lowercase; ${quoted(spec.driver)} contains uppercase characters`,
        ]
      : [],
});
