import type { DeviceTaint, DeviceTaintRule, DeviceToleration } from "@dray/api/resource/v1";
import type { DeviceRecord } from "../devices/device-record.ts";

/** The properties of a device that a DeviceTaintRule selects by. */
type SelectableDevice = Pick<DeviceRecord, "driver" | "pool"> & {
  readonly device: { readonly name: string };
};

/**
 * Returns the first taint that the tolerations do not cover (KEP-5055). Other effects than these two are
 * ignored.
 */
export function untolerated(
  taints: readonly DeviceTaint[],
  tolerations: readonly DeviceToleration[],
): DeviceTaint | undefined {
  return taints.find((taint) => {
    if (taint.effect !== "NoSchedule" && taint.effect !== "NoExecute") return false;
    return !tolerations.some((toleration) => tolerates(toleration, taint));
  });
}

function tolerates(toleration: DeviceToleration, taint: DeviceTaint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if (toleration.operator === "Exists") return true;
  const equal = !toleration.operator || toleration.operator === "Equal";
  return equal && (toleration.value ?? "") === (taint.value ?? "");
}

/** Returns the taints that DeviceTaintRules add to a device, in the order of the rules' names. */
export function ruleTaints(record: SelectableDevice, rules: Iterable<DeviceTaintRule>): DeviceTaint[] {
  return [...rules]
    .filter((rule) => selects(rule, record))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .flatMap(({ spec }) => spec.taint ?? []);
}

/** An empty selector selects all devices, a missing one none. */
function selects({ spec }: DeviceTaintRule, { driver, pool, device }: SelectableDevice): boolean {
  const selector = spec.deviceSelector;
  if (selector === undefined) return false;
  const matches = (wanted: string | undefined, actual: string): boolean => !wanted || wanted === actual;
  return (
    matches(selector.driver, driver) && matches(selector.pool, pool) && matches(selector.device, device.name)
  );
}
