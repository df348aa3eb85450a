import type { KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { podQosClass } from "@dray/api/defaults";
import type { Strategy } from "./strategy.ts";

export const pods: Strategy = {
  prepareForCreate(object) {
    const pod = object as Pod;
    pod.status = { phase: "Pending", qosClass: podQosClass(pod) };
    if (pod.spec?.schedulingGates?.length) {
      pod.status.conditions = [
        {
          type: "PodScheduled",
          status: "False",
          reason: "SchedulingGated",
          message: "Scheduling is blocked due to non-empty scheduling gates",
        },
      ];
    }
  },

  prepareForUpdate(object, old, context) {
    const pod = object as Pod;
    const before = old as Pod;
    if (context.subresource === "status") {
      copyOwners(pod, before);
      // Never lost by a kubelet that does not know it.
      if (pod.status && !pod.status.qosClass && before.status?.qosClass)
        pod.status.qosClass = before.status.qosClass;
    }
  },

  /** The pod's own grace unless the request says another; none before it runs somewhere and after it has ended. */
  gracePeriod(object, options) {
    const pod = object as Pod;
    const phase = pod.status?.phase;
    if (!pod.spec?.nodeName || phase === "Failed" || phase === "Succeeded") return 0;
    const seconds = options.gracePeriodSeconds ?? Number(pod.spec.terminationGracePeriodSeconds ?? 30);
    // A negative number means at once; the kubelet gives it a second.
    return seconds < 0 ? 1 : seconds;
  },
};

function copyOwners(pod: Pod, old: KubeObject): void {
  if (old.metadata.ownerReferences === undefined) delete pod.metadata.ownerReferences;
  else pod.metadata.ownerReferences = old.metadata.ownerReferences;
}
