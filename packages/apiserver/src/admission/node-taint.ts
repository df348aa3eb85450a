import type { Node } from "@dray/api/core/v1";
import type { AdmissionPlugin } from "./admission.ts";

const key = "node.kubernetes.io/not-ready";

/**
 * Adds the not-ready taint to a new node; the node lifecycle controller removes it when the node is ready.
 */
export function taintNodesByCondition(): AdmissionPlugin {
  return {
    mutate({ served, subresource, operation, object }) {
      if (served.resource !== "nodes" || subresource !== "" || operation !== "CREATE" || !object) return;
      const node = object as Node;
      const taints = node.spec?.taints ?? [];
      if (taints.some((taint) => taint.key === key && taint.effect === "NoSchedule")) return;
      node.spec = { ...node.spec, taints: [...taints, { key, effect: "NoSchedule" }] };
    },
  };
}
