import type { Pod, PodSpec, Toleration } from "@dray/api/core/v1";
import type { AdmissionPlugin } from "./admission.ts";

const seconds = 300;
const keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/**
 * Tolerates a node that is not ready or unreachable for five minutes, unless the pod has its own tolerations.
 */
export function tolerateOutages(spec: PodSpec): void {
  const missing = keys.filter(
    (key) => !(spec.tolerations ?? []).some((toleration) => tolerates(toleration, key)),
  );
  if (missing.length === 0) return;
  spec.tolerations = [
    ...(spec.tolerations ?? []),
    ...missing.map((key) => ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: seconds,
    })),
  ];
}

export function defaultTolerationSeconds(): AdmissionPlugin {
  return {
    mutate({ served, subresource, object, operation }) {
      if (served.resource !== "pods" || served.group !== "" || subresource !== "" || !object) return;
      if (operation !== "CREATE" && operation !== "UPDATE") return;
      const { spec } = object as Pod;
      if (spec) tolerateOutages(spec);
    },
  };
}

function tolerates({ key, effect }: Toleration, wanted: string): boolean {
  return (!key || key === wanted) && (!effect || effect === "NoExecute");
}
