import { Quantity, type QuantityFormat } from "@dray/api";
import type { DeviceAttribute } from "@dray/api/resource/v1";
import { AllocationError } from "../devices/allocation-error.ts";
import { type DeviceRecord, hasBindingConditions } from "../devices/device-record.ts";
import { isDeviceForNode } from "../devices/node-selection.ts";
import type { Corrections } from "../features/policies.ts";
import { publishedAttribute } from "../rules/constraints.ts";
import {
  fittingRequests,
  policyText,
  quantityOfNano,
  withDeviceNames,
} from "../rules/consumable-capacity.ts";
import { maxResults } from "../rules/prepared-claims.ts";
import { fails, firstUnmatched, type ShapeSelector } from "../rules/selectors.ts";
import { consumesCounters } from "../rules/shared-counters.ts";
import { untolerated } from "../rules/taints.ts";
import type { AllocatingState } from "../search/allocating-state.ts";
import { countText, type Option, type Problem } from "../search/problem.ts";
import type { CapacityDetails, RefusalGroup, SelectorDetails } from "./explanation.ts";

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
    cause: `it would get ${countText(option)} devices${rest}: a claim has at most ${maxResults}`,
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
  const unmatched = selectorRefusal(option, record);
  if (unmatched !== undefined) return unmatched;
  try {
    if (isDeviceForNode(record, problem.node)) return undefined;
    return { check: "node", cause: "the device is for other nodes" };
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error;
    return { check: "error", cause: error.message };
  }
}

/** Returns the first selector of the class or the request that is not true for the device. */
export function selectorRefusal(option: Option, record: DeviceRecord): Refusal | undefined {
  const unmatched = firstUnmatched(option.alternative.lists, record);
  if (unmatched === undefined) return undefined;
  const { list, index, verdict } = unmatched;
  const selector = list.selectors[index]!;
  const byClass = option.alternative.lists[0] === list;
  const of = byClass ? ("class" as const) : ("request" as const);
  const details = { of, expression: selector.expression, values: valuesRead(selector, record) };
  if (verdict === fails) {
    const text = selector.error(record.shape, record.id);
    const cause = `${list.owner}: selector #${index}${text}`;
    // Without the name of the device, and without general advice.
    const error = text.slice(text.indexOf("error: ") + "error: ".length).split(". ")[0]!;
    const available = keysOf(selector, record);
    return { check: "error", cause, selector: { ...details, error, ...(available && { available }) } };
  }
  return {
    check: byClass ? "class-selector" : "request-selector",
    cause: `${byClass ? `${list.owner}: ` : ""}${selector.expression}`,
    selector: details,
  };
}

/** Returns the names that a selector could have read of the device; undefined if it reads none. */
function keysOf({ reads }: ShapeSelector, record: DeviceRecord): SelectorDetails["available"] {
  if (reads === undefined) return undefined;
  const { attributes = {}, capacity = {} } = record.device;
  const names = (keys: readonly string[]): string[] => keys.map((name) => qualifiedName(record, name));
  const available = {
    ...(reads.attributes.length > 0 && { attributes: names(Object.keys(attributes)) }),
    ...(reads.capacity.length > 0 && { capacity: names(Object.keys(capacity)) }),
  };
  return Object.keys(available).length === 0 ? undefined : available;
}

/** Names without a domain are in that of the driver. */
const qualifiedName = ({ driver }: DeviceRecord, name: string): string =>
  name.includes("/") ? name : `${driver}/${name}`;

/** Returns the attributes and capacities that a selector reads, with null for those that the device lacks. */
function valuesRead(selector: ShapeSelector, record: DeviceRecord): Record<string, unknown> {
  const { reads } = selector;
  const values: Record<string, unknown> = {};
  const { device, driver } = record;
  const key = (name: string): string => qualifiedName(record, name);
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

const amountText = (nano: bigint, format?: QuantityFormat): string => quantityOfNano(nano, format).toString();

/** Without `allocating`, compares with the total of the device instead of the rest. */
export function capacityRefusal(
  problem: Problem,
  option: Option,
  position: number,
  allocating: AllocatingState | undefined,
): Refusal | undefined {
  const demand = problem.demand(option, position);
  if (demand.type === "error") return { check: "error", cause: demand.message };
  const short = demand.type === "refused" ? undefined : allocating?.missingCapacity(option, position);
  if (demand.type !== "refused" && short === undefined) return undefined;
  const key = demand.type === "refused" ? demand.key : short!.part.key; // one of the two is there
  const record = problem.devices[position]!;
  const { device, driver } = record;
  const { requirements } = option.alternative;
  const consumed = allocating?.consumedCapacity(position) ?? new Map<string, bigint>();
  const total = device.capacity?.[key];
  const whole = total && Quantity.parse(total.value);
  const requested = withDeviceNames(requirements?.requests ?? {}, device.capacity ?? {}, driver)[key];
  const counted = short?.part.consumed.toString();
  const asked = requested ?? (demand.type === "refused" ? demand.asked : counted!); // as above
  const left = whole && amountText(whole.nanoValue() - (consumed.get(key) ?? 0n), whole.format);
  const policy = policyText(total?.requestPolicy);
  const fitting = fittingRequests(record, requirements, consumed, problem);
  const capacity: CapacityDetails = {
    key,
    asked,
    ...(counted !== undefined && counted !== asked && { counted }),
    ...(left !== undefined && { left }),
    ...(policy !== undefined && { policy }),
    ...(fitting !== undefined && Object.keys(fitting).length > 0 && { fitting }),
  };
  const [deviceName] = Object.keys(withDeviceNames({ [key]: asked }, device.capacity ?? {}, driver));
  return {
    check: "capacity",
    cause: capacityCause(capacity),
    capacity,
    ...(deviceName !== key && { note: correctionNotes.capacityNamesByDriver }),
  };
}

function capacityCause({ key, asked, counted, left, policy }: CapacityDetails): string {
  if (left === undefined) return `the device has no capacity ${key}`;
  const rounded = counted === undefined ? "" : ` (which counts as ${counted})`;
  const accepted = policy === undefined ? "" : `; the request policy of the device accepts ${policy}`;
  return `capacity ${key}: ${asked} asked${rounded}, ${left} left${accepted}`;
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
