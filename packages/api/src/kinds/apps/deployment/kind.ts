import { podMakerWarnings } from "../../../checks/warnings/common.ts";
import { Deployment } from "../../../generated/apps/v1.ts";
import { podWarnings } from "../../core/pod/warnings.ts";
import { defineKind } from "../../define.ts";
import { defaultDeployment } from "./defaults.ts";
import { deploymentValidation } from "./validation.ts";

export const deployment = defineKind(Deployment, {
  defaults: defaultDeployment,
  validation: deploymentValidation,
  warnings: (object, old) =>
    podMakerWarnings(object, old, () => podWarnings("spec.template.", object.spec?.template)),
});
