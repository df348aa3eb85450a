import { labelDeprecation } from "../../../checks/warnings/node-labels.ts";
import { RuntimeClass } from "../../../generated/node/v1.ts";
import { defineKind } from "../../define.ts";
import { runtimeClassValidation } from "./validation.ts";

export const runtimeClass = defineKind(RuntimeClass, {
  validation: runtimeClassValidation,
  warnings: ({ scheduling }) =>
    Object.keys(scheduling?.nodeSelector ?? {}).flatMap((key) => {
      const why = labelDeprecation(key);
      return why === undefined ? [] : [`scheduling.nodeSelector: ${why}`];
    }),
});
