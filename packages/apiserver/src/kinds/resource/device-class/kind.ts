import { DeviceClass } from "@dray/api/resource/v1";
import { defineServedKind } from "../../define.ts";

export const deviceClass = defineServedKind(DeviceClass, {
  facts: {
    generation: true,
    answersDeleted: true,
    deprecated: { v1beta2: { since: "1.36", gone: "1.39" }, v1beta1: { since: "1.35", gone: "1.38" } },
  },
});
