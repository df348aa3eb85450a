import type { Node } from "@dray/api/core/v1";
import type { AdmissionPlugin } from "./admission.ts";

const key = "node.kubernetes.io/not-ready";

/**
 * A new node is not ready until its conditions say so: the node lifecycle controller takes the taint away.
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
