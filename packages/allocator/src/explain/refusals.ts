import { Quantity, type QuantityFormat } from "@dray/api";
import type { DeviceAttribute } from "@dray/api/resource/v1";
import { type DeviceRecord, hasBindingConditions } from "../devices/device-record.ts";
import type { Corrections } from "../features/policies.ts";
import { AllocationError } from "../rules/allocation-error.ts";
import { publishedAttribute } from "../rules/constraints.ts";
import { renamed } from "../rules/consumable-capacity.ts";
import { reachesDevice } from "../rules/node-selection.ts";
import { resultsLimit } from "../rules/prepared-claims.ts";
import { fails, firstUnmatched, type ShapeSelector } from "../rules/selectors.ts";
import { consumesCounters } from "../rules/shared-counters.ts";
import { untolerated } from "../rules/taints.ts";
import type { Taken } from "../search/allocating-state.ts";
import type { Option, Problem } from "../search/problem.ts";
import type { RefusalGroup } from "./explanation.ts";

/** Why one device is not given, without the devices that share the fate. */
export type Refusal = Omit<RefusalGroup, "count" | "devices">;

/** What a correction that is off would change. */
export const notes: Readonly<Record<keyof Corrections, string>> = {
  adminAccessIgnoresCounters:
    "adminAccessIgnoresCounters: admin access should take no counters (kubernetes#140729)",
  allModeRefusesNode: "allModeRefusesNode: this should concern the node alone (kubernetes#141898)",
  capacityNamesByDriver:
    "capacityNamesByDriver: the device has that capacity under its other name (kubernetes#142202)",
  sliceCountsMustAgree:
    "sliceCountsMustAgree: the slices of the pool disagree on their number (kubernetes#141117)",
};

/** A claim would get more devices than it may have. */
export function limitRefusal(
  problem: Problem,
  claim: number,
  request: number,
  option: Option,
): Refusal | undefined {
  const others = problem.claims[claim]!.requests.filter((_, i) => i !== request).map(({ options }) =>
    Math.min(...options.map(({ count }) => count)),
  );
  const least = others.reduce((sum, count) => sum + count, 0);
  if (option.count + least <= resultsLimit) return undefined;
  const rest = others.length === 0 ? "" : `, and the other requests ${least} at least`;
  return {
    check: "limit",
    cause: `it would get ${option.count} devices${rest}: a claim has at most ${resultsLimit}`,
  };
}

/** Why a device cannot serve a request, whatever else is picked. */
export function staticRefusal(
  problem: Problem,
  option: Option,
  position: number,
  taken: Taken,
): Refusal | undefined {
  const record = problem.devices[position]!;
  const { alternative } = option;
  const held =
    record.state.owned && !alternative.adminAccess
      ? {
          check: "in-use" as const,
          cause: `allocated to claim ${record.state.holder}`,
          holder: record.state.holder!,
        }
      : undefined;
  const selection = selectionRefusal(problem, option, record);
  if (held !== undefined && option.all === undefined) {
    // A device of another class is not "in use" to this request. The search passes over a device in use before it asks
    // the selectors, so an error of theirs is not the reason.
    return selection === undefined || selection.check === "error" ? held : selection;
  }
  // Mode All evaluates every device, also those in use: it wants them all.
  return (
    selection ??
    capacityRefusal(problem, option, position, taken, option.all !== undefined) ??
    held ??
    usageRefusal(problem, option, position, taken)
  );
}

function selectionRefusal(problem: Problem, option: Option, record: DeviceRecord): Refusal | undefined {
  const { device, slice } = record;
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
    if (reachesDevice(slice, device, problem.node)) return undefined;
    return { check: "node", cause: "the device is for other nodes" };
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error;
    return { check: "error", cause: error.message };
  }
}

/** The attributes and capacities that a selector reads, as the device has them; null: the device lacks it. */
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
  for (const name of attributes) values[name] = plain(publishedAttribute(record, name)) ?? null;
  const capacities = Object.entries(device.capacity ?? {}).map(([name, { value }]) => [key(name), value]);
  const capacity = new Map(capacities as [string, string][]);
  const wanted =
    reads.capacity === "all" ? [...capacity.keys()] : reads.capacity.map(([domain, id]) => `${domain}/${id}`);
  for (const name of wanted) values[name] = capacity.get(name) ?? null;
  return values;
}

/** The value of an attribute without its type, fit for JSON: a large int becomes its digits. */
export function plain(attribute: DeviceAttribute | undefined): unknown {
  const value: unknown = Object.values(attribute ?? {}).find((value) => value !== undefined);
  const scalar = (one: unknown): unknown => {
    if (typeof one !== "bigint") return one;
    return Number.isSafeInteger(Number(one)) ? Number(one) : one.toString();
  };
  return Array.isArray(value) ? value.map(scalar) : scalar(value);
}

/** An amount in billionths, as the API writes it; `format`: of what it is compared with, else what is shorter. */
function amountText(nano: bigint, format?: QuantityFormat): string {
  const units = nano / 1_000_000_000n;
  if (units * 1_000_000_000n !== nano) return Quantity.parse(`${nano}n`).toString();
  const binary = units !== 0n && units % 1024n === 0n;
  return Quantity.of(units, format ?? (binary ? "BinarySI" : "DecimalSI")).toString();
}

export function capacityRefusal(
  problem: Problem,
  option: Option,
  position: number,
  taken: Taken,
  wholeOnly = false,
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
    const [other] = Object.keys(renamed({ [key]: asked }, device.capacity ?? {}, driver));
    return {
      check: "capacity",
      cause,
      capacity: { key, asked, ...(value !== undefined && { left: value }) },
      ...(other !== key && { note: notes.capacityNamesByDriver }),
    };
  }
  const short = wholeOnly ? undefined : taken.shortCapacity(option, position);
  if (short === undefined) return undefined;
  const { consumed } = demand.parts.find(({ key }) => key === short.key)!;
  const asked = consumed.toString();
  const left = amountText(short.left, consumed.format);
  return {
    check: "capacity",
    cause: `capacity ${short.key}: ${asked} asked, ${left} left`,
    capacity: { key: short.key, asked, left },
  };
}

/** Counters, groups, taints and operations of the node, with what others have. */
function usageRefusal(problem: Problem, option: Option, position: number, taken: Taken): Refusal | undefined {
  const { device, taints, slice } = problem.devices[position]!;
  if (!problem.operable(position)) {
    if (consumesCounters(device) && !problem.features.partitionableDevices) {
      return { check: "gate", cause: "the device consumes counters, and DRAPartitionableDevices is off" };
    }
    const cause = problem.features.optionalNodeOperations
      ? `the node does not declare DRAOptionalNodeOperations, which slice ${slice.metadata.name} needs`
      : "the device skips node operations, and DRAOptionalNodeOperations is off";
    return { check: "gate", cause };
  }
  const short = counterRefusal(problem, option, position, taken);
  if (short !== undefined) return short;
  const taint = untolerated(taints, option.alternative.tolerations);
  if (taint !== undefined) {
    const value = taint.value ? `=${taint.value}` : "";
    return { check: "taint", cause: `untolerated taint ${taint.key}${value}:${taint.effect}`, taint };
  }
  return option.all === undefined ? undefined : capacityRefusal(problem, option, position, taken);
}

/** The first counter of which too little is left for the device. */
export function counterRefusal(
  problem: Problem,
  option: Option,
  position: number,
  taken: Taken,
): Refusal | undefined {
  const record = problem.devices[position]!;
  const { counters } = problem.view.poolOf[position]!;
  if (counters === undefined || !problem.counts(option, position)) return undefined;
  if (problem.shares(position) && taken.base(position).shared) return undefined;
  const { available, consumed } = taken.counters(counters);
  const wanted = counters.consumption(record);
  const amounts = new Map(wanted.counters.map((counter, i) => [counter, wanted.amounts[i]!]));
  // Upstream compares all counters of the pool: one that is overdrawn keeps every consuming device from being given.
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
    const note = option.alternative.adminAccess ? { note: notes.adminAccessIgnoresCounters } : {};
    return { check: "counter", cause, counter: detail, ...note };
  }
  return undefined;
}
