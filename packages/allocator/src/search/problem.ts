import type { Node } from "@dray/api/core/v1";
import type { DeviceAttribute } from "@dray/api/resource/v1";
import { AllocationError } from "../devices/allocation-error.ts";
import { type DeviceRecord, hasBindingConditions } from "../devices/device-record.ts";
import { isDeviceForNode } from "../devices/node-selection.ts";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";
import type { NodeView } from "../inventory/inventory.ts";
import type { AttributeValues } from "../rules/attribute-values.ts";
import { AttributeConstraint, publishedAttribute } from "../rules/constraints.ts";
import { type CapacityDemand, capacityDemand } from "../rules/consumable-capacity.ts";
import { type Alternative, maxResults, type PreparedClaim } from "../rules/prepared-claims.ts";
import {
  differs,
  fails,
  firstUnmatched,
  matches,
  type SelectorCache,
  unknown,
  type Verdict,
} from "../rules/selectors.ts";
import { consumesCounters } from "../rules/shared-counters.ts";

/** An alternative of a request on one node. */
export interface Option {
  readonly alternative: Alternative;
  /** Number of requested devices. */
  readonly count: number;
  /** Mode All: the positions of the devices among those of the node; otherwise undefined. */
  readonly all: readonly number[] | undefined;
  /** The constraints of the claim that cover it, in order. */
  readonly constraints: readonly AttributeConstraint[];
  /** Per device, the result of all checks that do not depend on the search; `unknown` until first asked. */
  readonly verdicts: Uint8Array;
  readonly demands: (CapacityDemand | undefined)[];
}

export interface OptionClaim {
  readonly prepared: PreparedClaim;
  /** For each request its alternatives. `list`: the request has `firstAvailable`. */
  readonly requests: readonly { readonly options: readonly Option[]; readonly list: boolean }[];
  readonly constraints: readonly AttributeConstraint[];
}

export interface ProblemOptions {
  readonly features: Features;
  readonly policies: Policies;
  readonly selectors: SelectorCache;
  readonly values: AttributeValues;
  readonly node: Node;
  readonly view: NodeView;
  readonly claims: readonly PreparedClaim[];
}

/** The feature that a node declares if it can skip operations on devices (gate DRAOptionalNodeOperations). */
const optionalNodeOperations = "DRAOptionalNodeOperations";
const noDemand: CapacityDemand = { type: "consumes", parts: [] };

/** The number of devices of an option, in digits. */
export function countText({ all, count, alternative }: Option): string {
  return all === undefined ? alternative.countText : String(count);
}

/** Claims on one node: the input of the search, and the checks that do not depend on its progress. */
export class Problem {
  readonly features: Features;
  readonly policies: Policies;
  readonly values: AttributeValues;
  readonly node: Node;
  readonly view: NodeView;
  readonly devices: readonly DeviceRecord[];
  readonly claims: readonly OptionClaim[];
  readonly #selectors: SelectorCache;
  /** Derived attributes by expression. */
  readonly #derived = new Map<string, Map<DeviceRecord, DeviceAttribute>>();

  /** Throws AllocationError with the first fault in upstream's order. */
  constructor(options: ProblemOptions) {
    this.features = options.features;
    this.policies = options.policies;
    this.values = options.values;
    this.node = options.node;
    this.view = options.view;
    this.devices = options.view.devices;
    this.#selectors = options.selectors;
    this.claims = options.claims.map((claim) => this.#claim(claim));
  }

  #claim(prepared: PreparedClaim): OptionClaim {
    const constraints: AttributeConstraint[] = [];
    for (const spec of prepared.constraints) {
      if ("fault" in spec) break;
      constraints.push(new AttributeConstraint(spec.constraint, spec.kind, this.values));
    }
    let minTotal = 0;
    const requests = prepared.requests.map(({ name, alternatives, list }) => {
      const options = alternatives.map((alternative) => {
        if ("fault" in alternative) throw new AllocationError(alternative.fault);
        return this.#option(alternative, constraints);
      });
      const minCount = options.reduce((min, option) => Math.min(min, option.count), Number.POSITIVE_INFINITY);
      if (minCount > maxResults - minTotal) {
        const smallest = options.find(({ count }) => count === minCount);
        throw new AllocationError(
          `claim ${prepared.name}, request ${name}: adding ${smallest === undefined ? minCount : countText(smallest)} devices exceeds the claim limit of ${maxResults}, with ${minTotal} already accounted for`,
        );
      }
      minTotal += minCount;
      return { options, list };
    });
    const fault = prepared.constraints[constraints.length];
    if (fault !== undefined && "fault" in fault) throw new AllocationError(fault.fault);
    return { prepared, requests, constraints };
  }

  #option(alternative: Alternative, constraints: readonly AttributeConstraint[]): Option {
    const covering = constraints.filter((c) => c.covers(alternative.request, alternative.subrequest));
    const option: Option = {
      alternative,
      count: alternative.count,
      all: undefined,
      constraints: covering,
      verdicts: new Uint8Array(this.devices.length),
      demands: [],
    };
    if (!alternative.all) return option;
    const all = this.#allDevices(option);
    return { ...option, count: all.length, all };
  }

  #allDevices(option: Option): number[] {
    for (const pool of this.view.pools) {
      const state = pool.incomplete ? "being updated" : pool.invalid === undefined ? undefined : "invalid";
      if (state === undefined) continue;
      if (this.policies.allModeRefusesNode) return [];
      // Upstream checks the devices of the pools before it first: they may fail with another error.
      this.#matchingDevices(option, (position) => this.#isBefore(this.view.poolOf[position]!, pool));
      throw new AllocationError(
        `${option.alternative.where}: asks for all devices, but resource pool ${pool.driver}/${pool.name} is currently ${state}`,
      );
    }
    return this.#matchingDevices(option, () => true);
  }

  #isBefore(one: NodeView["pools"][number], other: NodeView["pools"][number]): boolean {
    return this.view.pools.indexOf(one) < this.view.pools.indexOf(other);
  }

  #matchingDevices(option: Option, includes: (position: number) => boolean): number[] {
    const found: number[] = [];
    for (let position = 0; position < this.devices.length; position++) {
      if (!includes(position) || !this.isSelectable(option, position)) continue;
      const demand = this.demand(option, position);
      if (demand.type === "error") {
        const { name } = this.devices[position]!.device;
        throw new AllocationError(
          `${option.alternative.where}: checking capacity for device ${name}: ${demand.message}`,
        );
      }
      if (demand.type === "consumes") found.push(position);
    }
    return found;
  }

  /** Reports whether a device matches all selectors and is for the node. Throws AllocationError. */
  isSelectable(option: Option, position: number): boolean {
    const cached = option.verdicts[position] as Verdict;
    if (cached === matches || cached === differs) return cached === matches;
    const error = this.#check(option, position);
    if (error !== undefined) throw new AllocationError(error);
    return option.verdicts[position] === matches;
  }

  /** Returns the same as a verdict, without throwing. */
  verdict(option: Option, position: number): Verdict {
    if (option.verdicts[position] === unknown) {
      if (this.#check(option, position) !== undefined) option.verdicts[position] = fails;
    }
    return option.verdicts[position] as Verdict;
  }

  /** Stores the verdict, or returns the error of the device. */
  #check(option: Option, position: number): string | undefined {
    const record = this.devices[position]!;
    option.verdicts[position] = differs;
    if (!this.features.deviceBindingAndStatus && hasBindingConditions(record.device)) return undefined;
    const unmatched = firstUnmatched(option.alternative.lists, record);
    if (unmatched !== undefined) {
      if (unmatched.verdict !== fails) return undefined;
      const { list, index } = unmatched;
      option.verdicts[position] = unknown;
      return `${list.owner}: selector #${index}${list.selectors[index]!.error(record.shape, record.id)}`;
    }
    try {
      if (!isDeviceForNode(record, this.node)) return undefined;
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      option.verdicts[position] = unknown;
      return error.message;
    }
    option.verdicts[position] = matches;
    return undefined;
  }

  /** Returns the capacity that the request needs from a device. */
  demand(option: Option, position: number): CapacityDemand {
    if (!this.features.consumableCapacity) return noDemand;
    option.demands[position] ??= capacityDemand(
      this.devices[position]!,
      option.alternative.requirements,
      this,
    );
    return option.demands[position];
  }

  /** Reports whether requests get shares of the device instead of the whole device. */
  isShareable(position: number): boolean {
    return (
      this.features.consumableCapacity && this.devices[position]!.device.allowMultipleAllocations === true
    );
  }

  /** Reports whether a request consumes shared counters with the device. */
  consumesCounters(option: Option, position: number): boolean {
    if (option.alternative.adminAccess && this.policies.adminAccessIgnoresCounters) return false;
    return consumesCounters(this.devices[position]!.device);
  }

  /** Reports whether the features and the node support the requirements of the device. */
  isSupported(position: number): boolean {
    const { device, slice } = this.devices[position]!;
    if (!this.features.partitionableDevices && consumesCounters(device)) return false;
    if (!this.policies.skipsNodeOperations || (slice.spec.skipNodeOperations ?? []).length === 0) return true;
    if (!this.features.optionalNodeOperations) return false;
    return (this.node.status?.declaredFeatures ?? []).includes(optionalNodeOperations);
  }

  /**
   * Returns the attribute that a constraint compares. A derived attribute of the request hides a published
   * one. Throws AllocationError.
   */
  attribute(option: Option, record: DeviceRecord, name: string): DeviceAttribute | undefined {
    const expression = option.alternative.derived?.get(name);
    if (expression === undefined) return publishedAttribute(record, name);
    let byDevice = this.#derived.get(expression);
    if (byDevice === undefined) {
      byDevice = new Map();
      this.#derived.set(expression, byDevice);
    }
    let attribute = byDevice.get(record);
    if (attribute === undefined) {
      attribute = this.#derive(expression, record, name);
      byDevice.set(record, attribute);
    }
    return attribute;
  }

  #derive(expression: string, record: DeviceRecord, name: string): DeviceAttribute {
    const result = this.#selectors.derive(expression, record.shape);
    if ("compileError" in result) {
      throw new AllocationError(`compile derived attribute ${name} failed: ${result.compileError}`);
    }
    if ("runtimeError" in result) {
      throw new AllocationError(
        `evaluate derived attribute ${name} on device ${record.id} failed: ${result.runtimeError}`,
      );
    }
    return result.attribute;
  }
}
