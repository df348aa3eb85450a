import type { ClusterEvent } from "../framework/framework.ts";

const resources = { class: "DeviceClass", slice: "ResourceSlice", claim: "ResourceClaim" } as const;
const actions = { add: "Add", update: "Update", delete: "Delete" } as const;

/** As metrics name the event. Upstream: kube-scheduler/framework/types.go, ClusterEvent.Label. */
export function eventLabel(event: ClusterEvent): string {
  switch (event.kind) {
    case "node":
      return `Node${actions[event.change]}`;
    case "assigned-pod":
      return `AssignedPod${actions[event.change]}`;
    case "volume":
      return `${event.object.kind}${actions[event.change]}`;
    case "own-pod":
      return "TargetPodUpdate";
    case "pod-group":
      if (event.composite !== undefined) return "CompositePodGroupAdd";
      if (event.group === undefined) return "UnscheduledPodAdd";
      return event.old === undefined ? "PodGroupAdd" : "PodGroupUpdate";
    case "released":
      return "AssignedPodDelete";
    default:
      return `${resources[event.kind]}Update`;
  }
}
