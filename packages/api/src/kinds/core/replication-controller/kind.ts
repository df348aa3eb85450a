import { podMakerWarnings } from "../../../checks/warnings/common.ts";
import { ReplicationController } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { countEvaluator } from "../../quota-evaluator.ts";
import { podWarnings } from "../pod/warnings.ts";
import { defaultReplicationController } from "./defaults.ts";
import { replicationControllerValidation } from "./validation.ts";

export const replicationController = defineKind(ReplicationController, {
  defaults: defaultReplicationController,
  validation: replicationControllerValidation,
  // Upstream warns about the old template on an update.
  warnings: (object, old) =>
    podMakerWarnings(object, old, () => podWarnings("spec.template.", (old ?? object).spec?.template)),
  quota: () => countEvaluator("", "replicationcontrollers", "replicationcontrollers"),
});
