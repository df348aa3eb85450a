import { changed } from "../../../checks/warnings/common.ts";
import { DaemonSet } from "../../../generated/apps/v1.ts";
import { podWarnings } from "../../core/pod/warnings.ts";
import { defineKind } from "../../define.ts";
import { defaultDaemonSet } from "./defaults.ts";
import { daemonSetValidation } from "./validation.ts";

export const daemonSet = defineKind(DaemonSet, {
  defaults: defaultDaemonSet,
  validation: daemonSetValidation,
  warnings: (object, old) =>
    changed(object, old) ? podWarnings("spec.template.", object.spec?.template) : [],
});
