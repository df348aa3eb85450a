import { podMakerWarnings } from "../../../checks/warnings/common.ts";
import { ReplicaSet } from "../../../generated/apps/v1.ts";
import { podWarnings } from "../../core/pod/warnings.ts";
import { defineKind } from "../../define.ts";
import { defaultReplicaSet } from "./defaults.ts";
import { replicaSetValidation } from "./validation.ts";

export const replicaSet = defineKind(ReplicaSet, {
  defaults: defaultReplicaSet,
  validation: replicaSetValidation,
  warnings: (object, old) =>
    podMakerWarnings(object, old, () => podWarnings("spec.template.", object.spec?.template)),
});
