import type { DeviceTaint, DeviceTaintRule, DeviceToleration } from "@dray/api/resource/v1";
import type { DeviceRecord } from "../devices/device-record.ts";

/** Properties of a device that a rule can select by. */
type NamedDevice = Pick<DeviceRecord, "driver" | "pool"> & { readonly device: { readonly name: string } };

/** The first taint that keeps a request away from a device (KEP-5055); undefined: none does. */
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

/** The taints that rules give to a device (DeviceTaintRule), in the order of the rules' names. */
export function ruleTaints(record: NamedDevice, rules: Iterable<DeviceTaintRule>): DeviceTaint[] {
  return [...rules]
    .filter((rule) => chooses(rule, record))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .flatMap(({ spec }) => spec.taint ?? []);
}

/** An empty selector chooses all devices, none at all no device; what it names has to be equal. */
function chooses({ spec }: DeviceTaintRule, { driver, pool, device }: NamedDevice): boolean {
  const selector = spec.deviceSelector;
  if (selector === undefined) return false;
  const equal = (wanted: string | undefined, actual: string): boolean => !wanted || wanted === actual;
  return equal(selector.driver, driver) && equal(selector.pool, pool) && equal(selector.device, device.name);
}
