import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims } from "@dray/api/pod";
import { differ } from "../../framework/changes.ts";
import type { ClusterEvent, NodePart } from "../../framework/framework.ts";

/**
 * Reports whether an event may help a pod that DynamicResources has rejected or gated. A claim that is freed
 * helps every pod, another change of a claim only the pods that use it; neither helps a pod whose own claims
 * are not complete (`isComplete`).
 * Upstream: dynamicresources.go, EventsToRegister, isSchedulableAfterClaimChange,
 * isSchedulableAfterTargetPodUpdate.
 */
export function mayHelpClaims(pod: Pod, event: ClusterEvent, isComplete: (pod: Pod) => boolean): boolean {
  switch (event.kind) {
    case "class":
    case "slice":
    case "released":
      return true;
    case "node":
      if (event.change !== "update") return event.change === "add";
      return deciding.some((part) => event.changed.has(part));
    case "own-pod": {
      const named = (one: Pod | undefined) => one?.status?.resourceClaimStatuses;
      if (event.old !== undefined && !differ(named(event.old), named(event.pod))) return false;
      return isComplete(event.pod);
    }
    case "claim": {
      const { namespace, name, freed } = event;
      const uses =
        pod.metadata.namespace === namespace && createdPodClaims(pod).some((claim) => claim.name === name);
      return (freed || uses) && isComplete(pod);
    }
    default:
      return false;
  }
}

/** The parts of a node that decide which devices it reaches. */
const deciding: readonly NodePart[] = ["labels", "allocatable", "declaredFeatures"];
