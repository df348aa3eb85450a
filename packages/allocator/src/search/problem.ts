import type { Node } from "@dray/api/core/v1";
import type { DeviceAttribute } from "@dray/api/resource/v1";
import { type DeviceRecord, hasBindingConditions } from "../devices/device-record.ts";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";
import type { NodeView } from "../inventory/inventory.ts";
import { AllocationError } from "../rules/allocation-error.ts";
import { AttributeConstraint, publishedAttribute } from "../rules/constraints.ts";
import { type CapacityDemand, capacityDemand } from "../rules/consumable-capacity.ts";
import { reachesDevice } from "../rules/node-selection.ts";
import { type Alternative, type PreparedClaim, resultsLimit } from "../rules/prepared-claims.ts";
import {
  derive,
  differs,
  fails,
  firstUnmatched,
  matches,
  unknown,
  type Verdict,
} from "../rules/selectors.ts";
import { consumesCounters } from "../rules/shared-counters.ts";

/** One alternative on one node. */
export interface Option {
  readonly alternative: Alternative;
  /** Devices that are wanted. */
  readonly count: number;
  /** Mode All: exactly these, as positions among the devices of the node. */
  readonly all: readonly number[] | undefined;
  /** The constraints of the claim that cover it, in order. */
  readonly constraints: readonly AttributeConstraint[];
  /** Whether each device passes everything that does not change during a search; `unknown` until asked. */
  readonly verdicts: Uint8Array;
  readonly demands: (CapacityDemand | undefined)[];
}

export interface OptionClaim {
  readonly prepared: PreparedClaim;
  /** For each request its alternatives. */
  readonly requests: readonly { readonly options: readonly Option[]; readonly list: boolean }[];
  readonly constraints: readonly AttributeConstraint[];
}

export interface ProblemOptions {
  readonly features: Features;
  readonly policies: Policies;
  readonly node: Node;
  readonly view: NodeView;
  readonly claims: readonly PreparedClaim[];
}

/** What a node declares that may leave out operations on devices (gate DRAOptionalNodeOperations). */
const optionalNodeOperations = "DRAOptionalNodeOperations";
const nothingAsked: CapacityDemand = { type: "consumes", parts: [] };

/** Claims on one node: what there is to search, and all that can be said of a device without searching. */
export class Problem {
  readonly features: Features;
  readonly policies: Policies;
  readonly node: Node;
  readonly view: NodeView;
  readonly devices: readonly DeviceRecord[];
  readonly claims: readonly OptionClaim[];
  readonly #derived = new Map<string, Map<DeviceRecord, DeviceAttribute>>();

  /** Throws AllocationError with the first fault, in the order in which upstream looks for them. */
  constructor(options: ProblemOptions) {
    this.features = options.features;
    this.policies = options.policies;
    this.node = options.node;
    this.view = options.view;
    this.devices = options.view.devices;
    this.claims = options.claims.map((claim) => this.#claim(claim));
  }

  #claim(prepared: PreparedClaim): OptionClaim {
    const constraints: AttributeConstraint[] = [];
    for (const spec of prepared.constraints) {
      if ("fault" in spec) break;
      constraints.push(new AttributeConstraint(spec.constraint, spec.kind, this.features.listTypeAttributes));
    }
    let least = 0;
    const requests = prepared.requests.map(({ name, alternatives, list }) => {
      const options = alternatives.map((alternative) => {
        if ("fault" in alternative) throw new AllocationError(alternative.fault);
        return this.#option(alternative, constraints);
      });
      const count = options.reduce(
        (least, option) => Math.min(least, option.count),
        Number.POSITIVE_INFINITY,
      );
      if (count > resultsLimit - least) {
        throw new AllocationError(
          `claim ${prepared.name}, request ${name}: adding ${count} devices exceeds the claim limit of ${resultsLimit}, with ${least} already accounted for`,
        );
      }
      least += count;
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
      // Devices of the pools before it are looked at first, and may fail.
      this.#allOf(option, (position) => this.#before(this.view.poolOf[position]!, pool));
      throw new AllocationError(
        `${option.alternative.where}: asks for all devices, but resource pool ${pool.driver}/${pool.name} is currently ${state}`,
      );
    }
    return this.#allOf(option, () => true);
  }

  #before(one: NodeView["pools"][number], other: NodeView["pools"][number]): boolean {
    return this.view.pools.indexOf(one) < this.view.pools.indexOf(other);
  }

  #allOf(option: Option, wanted: (position: number) => boolean): number[] {
    const found: number[] = [];
    for (let position = 0; position < this.devices.length; position++) {
      if (!wanted(position) || !this.selectable(option, position)) continue;
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

  /** Whether a device passes selectors and is for the node. Throws AllocationError. */
  selectable(option: Option, position: number): boolean {
    const known = option.verdicts[position] as Verdict;
    if (known === matches || known === differs) return known === matches;
    const error = this.#decide(option, position);
    if (error !== undefined) throw new AllocationError(error);
    return option.verdicts[position] === matches;
  }

  /** The same without throwing: whether it passes, does not, or fails. */
  verdict(option: Option, position: number): Verdict {
    if (option.verdicts[position] === unknown) {
      if (this.#decide(option, position) !== undefined) option.verdicts[position] = fails;
    }
    return option.verdicts[position] as Verdict;
  }

  #decide(option: Option, position: number): string | undefined {
    const record = this.devices[position]!;
    option.verdicts[position] = differs;
    const { device, slice } = record;
    if (!this.features.deviceBindingAndStatus && hasBindingConditions(device)) return undefined;
    const unmatched = firstUnmatched(option.alternative.lists, record);
    if (unmatched !== undefined) {
      if (unmatched.verdict !== fails) return undefined;
      const { list, index } = unmatched;
      option.verdicts[position] = unknown;
      return `${list.owner}: selector #${index}${list.selectors[index]!.error(record.shape, record.id)}`;
    }
    try {
      if (!reachesDevice(slice, device, this.node)) return undefined;
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      option.verdicts[position] = unknown;
      return error.message;
    }
    option.verdicts[position] = matches;
    return undefined;
  }

  /** What a device gives to a request of its capacities. */
  demand(option: Option, position: number): CapacityDemand {
    if (!this.features.consumableCapacity) return nothingAsked;
    option.demands[position] ??= capacityDemand(
      this.devices[position]!,
      option.alternative.requirements,
      this,
    );
    return option.demands[position];
  }

  /** Whether requests share the device instead of having it for themselves. */
  shares(position: number): boolean {
    return (
      this.features.consumableCapacity && this.devices[position]!.device.allowMultipleAllocations === true
    );
  }

  /** Whether a request takes counters of the device's pool. */
  counts(option: Option, position: number): boolean {
    if (option.alternative.adminAccess && this.policies.adminAccessIgnoresCounters) return false;
    return consumesCounters(this.devices[position]!.device);
  }

  /** Whether the features that are on, and the node, know how to handle the device. */
  operable(position: number): boolean {
    const { device, slice } = this.devices[position]!;
    if (!this.features.partitionableDevices && consumesCounters(device)) return false;
    if (!this.policies.skipsNodeOperations || (slice.spec.skipNodeOperations ?? []).length === 0) return true;
    if (!this.features.optionalNodeOperations) return false;
    return (this.node.status?.declaredFeatures ?? []).includes(optionalNodeOperations);
  }

  /** The attribute that a constraint compares: a derived one shadows what the driver publishes. Throws AllocationError. */
  attribute(option: Option, record: DeviceRecord, name: string): DeviceAttribute | undefined {
    const expression = option.alternative.derived?.get(name);
    if (expression === undefined) return publishedAttribute(record, name);
    let values = this.#derived.get(expression);
    if (values === undefined) {
      values = new Map();
      this.#derived.set(expression, values);
    }
    let value = values.get(record);
    if (value === undefined) {
      value = this.#derive(expression, record, name);
      values.set(record, value);
    }
    return value;
  }

  #derive(expression: string, record: DeviceRecord, name: string): DeviceAttribute {
    const result = derive(expression, record.shape);
    if ("compile" in result) {
      throw new AllocationError(`compile derived attribute ${name} failed: ${result.compile}`);
    }
    if ("evaluate" in result) {
      throw new AllocationError(
        `evaluate derived attribute ${name} on device ${record.id} failed: ${result.evaluate}`,
      );
    }
    return result.attribute;
  }
}
