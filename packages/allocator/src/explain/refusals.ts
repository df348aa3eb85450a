import { Quantity, type QuantityFormat } from "@dray/api";
import type { DeviceAttribute } from "@dray/api/resource/v1";
import { AllocationError } from "../devices/allocation-error.ts";
import { type DeviceRecord, hasBindingConditions } from "../devices/device-record.ts";
import { isDeviceForNode } from "../devices/node-selection.ts";
import type { Corrections } from "../features/policies.ts";
import { publishedAttribute } from "../rules/constraints.ts";
import { withDeviceNames } from "../rules/consumable-capacity.ts";
import { maxResults } from "../rules/prepared-claims.ts";
import { fails, firstUnmatched, type ShapeSelector } from "../rules/selectors.ts";
import { consumesCounters } from "../rules/shared-counters.ts";
import { untolerated } from "../rules/taints.ts";
import type { AllocatingState } from "../search/allocating-state.ts";
import type { Option, Problem } from "../search/problem.ts";
import type { RefusalGroup } from "./explanation.ts";

/** Why a device is refused: a group without its devices. */
export type Refusal = Omit<RefusalGroup, "count" | "devices">;

/** Notes that name the correction with which a check would pass. */
export const correctionNotes: Readonly<Record<keyof Corrections, string>> = {
  adminAccessIgnoresCounters:
    "adminAccessIgnoresCounters: admin access should take no counters (kubernetes#140729)",
  allModeRefusesNode: "allModeRefusesNode: this should concern the node alone (kubernetes#141898)",
  capacityNamesByDriver:
    "capacityNamesByDriver: the device has that capacity under its other name (kubernetes#142202)",
  sliceCountsMustAgree:
    "sliceCountsMustAgree: the slices of the pool disagree on their number (kubernetes#141117)",
};

/** Refuses an option with which the claim would exceed the maximum number of devices. */
export function limitRefusal(
  problem: Problem,
  claim: number,
  request: number,
  option: Option,
): Refusal | undefined {
  const others = problem.claims[claim]!.requests.filter((_, i) => i !== request).map(({ options }) =>
    Math.min(...options.map(({ count }) => count)),
  );
  const minRest = others.reduce((sum, count) => sum + count, 0);
  if (option.count + minRest <= maxResults) return undefined;
  const rest = others.length === 0 ? "" : `, and the other requests ${minRest} at least`;
  return {
    check: "limit",
    cause: `it would get ${option.count} devices${rest}: a claim has at most ${maxResults}`,
  };
}

/** Returns why a device cannot serve a request, independent of other picks; undefined if it can. */
export function staticRefusal(
  problem: Problem,
  option: Option,
  position: number,
  allocating: AllocatingState,
): Refusal | undefined {
  const record = problem.devices[position]!;
  const { alternative } = option;
  const inUse =
    record.state.isOwned && !alternative.adminAccess
      ? {
          check: "in-use" as const,
          cause: `allocated to claim ${record.state.holder}`,
          // A device that is in use has a holder.
          holder: record.state.holder!,
        }
      : undefined;
  const selection = selectionRefusal(problem, option, record);
  if (inUse !== undefined && option.all === undefined) {
    // The search skips devices in use before it evaluates selectors: the error of a selector is not the
    // reason.
    return selection === undefined || selection.check === "error" ? inUse : selection;
  }
  // Mode All evaluates all devices, also those in use.
  return (
    selection ??
    capacityRefusal(problem, option, position, option.all === undefined ? allocating : undefined) ??
    inUse ??
    usageRefusal(problem, option, position, allocating)
  );
}

function selectionRefusal(problem: Problem, option: Option, record: DeviceRecord): Refusal | undefined {
  const { device } = record;
  if (!problem.features.deviceBindingAndStatus && hasBindingConditions(device)) {
    return {
      check: "gate",
      cause: "the device has binding conditions, and DRADeviceBindingConditions is off",
    };
  }
  const unmatched = firstUnmatched(option.alternative.lists, record);
  if (unmatched !== undefined) {
    const { list, index, verdict } = unmatched;
    const selector = list.selectors[index]!;
    const details = { expression: selector.expression, values: valuesRead(selector, record) };
    if (verdict === fails) {
      const cause = `${list.owner}: selector #${index}${selector.error(record.shape, record.id)}`;
      return { check: "error", cause, selector: details };
    }
    const byClass = option.alternative.lists[0] === list;
    return {
      check: byClass ? "class-selector" : "request-selector",
      cause: `${byClass ? `${list.owner}: ` : ""}${selector.expression}`,
      selector: details,
    };
  }
  try {
    if (isDeviceForNode(record, problem.node)) return undefined;
    return { check: "node", cause: "the device is for other nodes" };
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error;
    return { check: "error", cause: error.message };
  }
}

/** Returns the attributes and capacities that a selector reads, with null for those that the device lacks. */
function valuesRead(selector: ShapeSelector, record: DeviceRecord): Record<string, unknown> {
  const { reads } = selector;
  const values: Record<string, unknown> = {};
  const { device, driver } = record;
  const key = (name: string): string => (name.includes("/") ? name : `${driver}/${name}`);
  if (reads === undefined) return values;
  if (reads.driver) values["driver"] = driver;
  if (reads.allowMultipleAllocations) {
    values["allowMultipleAllocations"] = device.allowMultipleAllocations === true;
  }
  const attributes =
    reads.attributes === "all"
      ? Object.keys(device.attributes ?? {}).map(key)
      : reads.attributes.map(([domain, id]) => `${domain}/${id}`);
  for (const name of attributes) values[name] = plainValue(publishedAttribute(record, name)) ?? null;
  const capacities = Object.entries(device.capacity ?? {}).map(([name, { value }]) => [key(name), value]);
  const capacity = new Map(capacities as [string, string][]);
  const wanted =
    reads.capacity === "all" ? [...capacity.keys()] : reads.capacity.map(([domain, id]) => `${domain}/${id}`);
  for (const name of wanted) values[name] = capacity.get(name) ?? null;
  return values;
}

/** Returns the value of an attribute as JSON has it; a large int as its digits. */
export function plainValue(attribute: DeviceAttribute | undefined): unknown {
  const value: unknown = Object.values(attribute ?? {}).find((value) => value !== undefined);
  const scalar = (one: unknown): unknown => {
    if (typeof one !== "bigint") return one;
    return Number.isSafeInteger(Number(one)) ? Number(one) : one.toString();
  };
  return Array.isArray(value) ? value.map(scalar) : scalar(value);
}

/** Formats billionths as the API does; without a format, in the shorter one. */
function amountText(nano: bigint, format?: QuantityFormat): string {
  const units = nano / 1_000_000_000n;
  if (units * 1_000_000_000n !== nano) return Quantity.parse(`${nano}n`).toString();
  const binary = units !== 0n && units % 1024n === 0n;
  return Quantity.of(units, format ?? (binary ? "BinarySI" : "DecimalSI")).toString();
}

/** Without `allocating`, compares with the total of the device instead of the rest. */
export function capacityRefusal(
  problem: Problem,
  option: Option,
  position: number,
  allocating: AllocatingState | undefined,
): Refusal | undefined {
  const demand = problem.demand(option, position);
  if (demand.type === "error") return { check: "error", cause: demand.message };
  if (demand.type === "refused") {
    const { key, asked, reason } = demand;
    const { device, driver } = problem.devices[position]!;
    const value = device.capacity?.[key]?.value;
    const cause = {
      missing: `the device has no capacity ${key}`,
      size: `capacity ${key}: ${asked} asked, the device has ${value}`,
      policy: `capacity ${key}: ${asked} asked, which the request policy of the device does not allow`,
    }[reason];
    const [deviceName] = Object.keys(withDeviceNames({ [key]: asked }, device.capacity ?? {}, driver));
    return {
      check: "capacity",
      cause,
      capacity: { key, asked, ...(value !== undefined && { left: value }) },
      ...(deviceName !== key && { note: correctionNotes.capacityNamesByDriver }),
    };
  }
  const short = allocating?.missingCapacity(option, position);
  if (short === undefined) return undefined;
  const { key, consumed } = short.part;
  const asked = consumed.toString();
  const left = amountText(short.left, consumed.format);
  return {
    check: "capacity",
    cause: `capacity ${key}: ${asked} asked, ${left} left`,
    capacity: { key, asked, left },
  };
}

/** Checks features, counters and taints, including the consumption of other claims. */
function usageRefusal(
  problem: Problem,
  option: Option,
  position: number,
  allocating: AllocatingState,
): Refusal | undefined {
  const { device, taints, slice } = problem.devices[position]!;
  if (!problem.isSupported(position)) {
    if (consumesCounters(device) && !problem.features.partitionableDevices) {
      return { check: "gate", cause: "the device consumes counters, and DRAPartitionableDevices is off" };
    }
    const cause = problem.features.optionalNodeOperations
      ? `the node does not declare DRAOptionalNodeOperations, which slice ${slice.metadata.name} needs`
      : "the device skips node operations, and DRAOptionalNodeOperations is off";
    return { check: "gate", cause };
  }
  const short = counterRefusal(problem, option, position, allocating);
  if (short !== undefined) return short;
  const taint = untolerated(taints, option.alternative.tolerations);
  if (taint !== undefined) {
    const value = taint.value ? `=${taint.value}` : "";
    return { check: "taint", cause: `untolerated taint ${taint.key}${value}:${taint.effect}`, taint };
  }
  return option.all === undefined ? undefined : capacityRefusal(problem, option, position, allocating);
}

/** Refuses a device if too little is left of a counter. */
export function counterRefusal(
  problem: Problem,
  option: Option,
  position: number,
  allocating: AllocatingState,
): Refusal | undefined {
  const record = problem.devices[position]!;
  const { counters } = problem.view.poolOf[position]!;
  if (counters === undefined || !problem.consumesCounters(option, position)) return undefined;
  if (problem.isShareable(position) && allocating.allocated(position).isShared) return undefined;
  const { available, consumed } = allocating.counters(counters);
  const wanted = counters.consumption(record);
  const amounts = new Map(wanted.counters.map((counter, i) => [counter, wanted.amounts[i]!]));
  // As upstream: an overdrawn counter refuses all devices that consume counters of the pool, also of other
  // sets.
  for (let i = 0; i < available.length; i++) {
    const left = available[i]! - consumed[i]!;
    const asked = amounts.get(i) ?? 0n;
    if (asked <= left) continue;
    const { set, counter } = counters.names[i]!;
    const detail = { counterSet: set, counter, asked: amountText(asked), left: amountText(left) };
    const cause =
      asked === 0n
        ? `counter ${counter} of set ${set} in the same pool is overdrawn: ${detail.left} left`
        : `counter ${counter} of set ${set}: ${detail.asked} asked, ${detail.left} left`;
    const note = option.alternative.adminAccess ? { note: correctionNotes.adminAccessIgnoresCounters } : {};
    return { check: "counter", cause, counter: detail, ...note };
  }
  return undefined;
}
