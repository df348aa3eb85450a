import type { DeviceTaint, DeviceToleration } from "@dray/api/resource/v1";

/** Whether each taint that keeps claims away is tolerated (KEP-5055). Unknown effects and None keep nobody away. */
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
