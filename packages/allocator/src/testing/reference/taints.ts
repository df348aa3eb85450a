import type { DeviceTaint, DeviceToleration } from "@dray/api/resource/v1";

/**
 * Reports whether all taints are tolerated (KEP-5055). The effect None and unknown effects do not need to be.
 */
export function toleratesAll(
  tolerations: readonly DeviceToleration[] | undefined,
  taints: readonly DeviceTaint[] | undefined,
): boolean {
  return (taints ?? [])
    .filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute")
    .every((taint) => (tolerations ?? []).some((toleration) => tolerates(toleration, taint)));
}

function tolerates(toleration: DeviceToleration, taint: DeviceTaint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if (toleration.operator === "Exists") return true;
  const equal = !toleration.operator || toleration.operator === "Equal";
  return equal && (toleration.value ?? "") === (taint.value ?? "");
}
