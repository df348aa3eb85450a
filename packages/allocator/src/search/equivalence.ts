import { AllocationError } from "../devices/allocation-error.ts";
import { textOf } from "../rules/attribute-values.ts";
import { publishedAttribute } from "../rules/constraints.ts";
import { fails, matches } from "../rules/selectors.ts";
import { consumesCounters } from "../rules/shared-counters.ts";
import { untolerated } from "../rules/taints.ts";
import type { AllocatedDeviceState, AllocatingState } from "./allocating-state.ts";
import { findInfeasible } from "./infeasible.ts";
import type { Option, Problem } from "./problem.ts";

/**
 * The classes of interchangeable devices of a node: equal results of selectors and taints, equal attributes
 * in constraints, equal counters and capacity, equal allocation. If one of them leads to a dead end, so do
 * the others.
 */
export class Equivalence {
  /** The same text for interchangeable devices. */
  readonly kinds: readonly string[];
  /** No solution exists. */
  readonly impossible: boolean;
  readonly #usable: ReadonlyMap<Option, Uint8Array> | undefined;

  constructor(problem: Problem, allocating: AllocatingState) {
    const options = problem.claims.flatMap(({ requests }) => requests.flatMap(({ options }) => options));
    const names = problem.claims.flatMap(({ constraints }) => constraints.map(({ attribute }) => attribute));
    const kinds: string[] = [];
    let mayFail = options.some(({ all, constraints }) => all !== undefined && constraints.length > 0);
    for (let position = 0; position < problem.devices.length; position++) {
      const parts = [...new Set(names)].map((name) => attributeText(problem, undefined, position, name));
      let unique = false;
      for (const option of options) {
        const text = this.#optionText(problem, option, position, allocating);
        if (text === undefined) {
          unique = true;
          mayFail = true;
        } else parts.push(text);
        // Devices of mode All are allocated in order, and the first that breaks a constraint fails the
        // attempt.
        if (option.constraints.length > 0 && option.all?.includes(position) === true) unique = true;
      }
      kinds.push(
        unique
          ? `device ${position}`
          : [...parts, this.#stateText(problem, position, allocating.allocated(position))].join("\n"),
      );
    }
    this.kinds = numbered(kinds);
    // If a device fails the attempt once the search reaches it, no device may be skipped.
    const found = mayFail ? undefined : findInfeasible(problem, allocating);
    this.impossible = found === true;
    this.#usable = found === true ? undefined : found;
  }

  /** Returns 1 for each device that may be part of a solution, by position; undefined if unknown. */
  usable(option: Option): Uint8Array | undefined {
    return this.#usable?.get(option);
  }

  /** Returns the results of a request's checks on a device; undefined if one fails. */
  #optionText(
    problem: Problem,
    option: Option,
    position: number,
    allocating: AllocatingState,
  ): string | undefined {
    const verdict = problem.verdict(option, position);
    if (verdict === fails) return undefined;
    const listed = option.all?.includes(position) === true ? "all" : "";
    if (verdict !== matches) return listed;
    const demand = problem.demand(option, position);
    if (demand.type === "error") return undefined;
    const tainted = untolerated(allocating.taints(position), option.alternative.tolerations) !== undefined;
    const parts = [listed, demand.type, tainted ? "tainted" : "fits"];
    if (option.alternative.derived !== undefined) {
      for (const { attribute } of option.constraints) {
        const text = attributeText(problem, option, position, attribute);
        if (text === undefined) return undefined;
        parts.push(text);
      }
    }
    return parts.join();
  }

  /** Returns the consumption of the device and its allocation. */
  #stateText(problem: Problem, position: number, allocated: AllocatedDeviceState): string {
    const { device, slice, driver, pool } = problem.devices[position]!;
    const parts: unknown[] = [allocated.isOwned, slice.spec.skipNodeOperations];
    if (consumesCounters(device)) parts.push(driver, pool, device.consumesCounters, allocated.isShared);
    if (problem.features.consumableCapacity) {
      const consumed = [...(allocated.consumed ?? [])].sort().join();
      parts.push(device.capacity, device.allowMultipleAllocations, consumed);
    }
    return JSON.stringify(parts);
  }
}

/** Returns the values of an attribute that constraints compare; undefined if its expression fails. */
function attributeText(
  problem: Problem,
  option: Option | undefined,
  position: number,
  name: string,
): string | undefined {
  const record = problem.devices[position]!;
  try {
    const attribute =
      option === undefined ? publishedAttribute(record, name) : problem.attribute(option, record, name);
    return textOf(problem.values.of(attribute));
  } catch (error) {
    if (error instanceof AllocationError) return undefined;
    throw error;
  }
}

/** Replaces equal texts by equal numbers. */
function numbered(texts: readonly string[]): string[] {
  const numbers = new Map<string, string>();
  return texts.map((text) => {
    let number = numbers.get(text);
    if (number === undefined) {
      number = String(numbers.size);
      numbers.set(text, number);
    }
    return number;
  });
}
