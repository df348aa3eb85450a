import { statusAddressWarnings } from "../../../checks/warnings/addresses.ts";
import { nameWarnings } from "../../../checks/warnings/common.ts";
import { Pod } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultPod } from "./defaults.ts";
import { checkEphemeralContainers } from "./ephemeral.ts";
import { podEvaluator } from "./quota.ts";
import { checkPodResize } from "./resize.ts";
import { checkPodStatus } from "./status.ts";
import { checkPodCreate, checkPodUpdate } from "./validation.ts";
import { podWarnings } from "./warnings.ts";

export const pod = defineKind(Pod, {
  defaults: defaultPod,
  validation: {
    create: checkPodCreate,
    update: checkPodUpdate,
    status: checkPodStatus,
    subresources: { resize: checkPodResize, ephemeralcontainers: checkEphemeralContainers },
  },
  warnings: (pod, old) =>
    old === undefined ? [...nameWarnings(pod, "the Pod's hostname"), ...podWarnings("", pod)] : [],
  statusWarnings: statusAddressWarnings,
  quota: podEvaluator,
});
