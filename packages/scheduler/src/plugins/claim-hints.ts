import type { Pod } from "@dray/api/core/v1";
import { podClaimName } from "@dray/api/pod";
import type { ClusterEvent } from "../framework.ts";

/**
 * Whether an event may help a pod that DynamicResources has rejected. A claim that is freed helps every pod, another
 * change of a claim only the pods that use it; neither helps a pod whose own claims are not complete (`isComplete`).
 * Upstream: dynamicresources.go, EventsToRegister and isSchedulableAfterClaimChange.
 */
export function mayHelpClaims(pod: Pod, event: ClusterEvent, isComplete: (pod: Pod) => boolean): boolean {
  switch (event.kind) {
    case "node":
    case "class":
    case "slice":
    case "released":
      return true;
    case "own-pod":
      return isComplete(pod);
    case "claim": {
      const { namespace, name, freed } = event;
      const uses =
        pod.metadata.namespace === namespace &&
        (pod.spec.resourceClaims ?? []).some((entry) => podClaimName(pod, entry) === name);
      return (freed || uses) && isComplete(pod);
    }
    default:
      return false;
  }
}
