import { AllocationError } from "../rules/allocation-error.ts";
import { publishedAttribute, textOf, valuesOf } from "../rules/constraints.ts";
import { fails, matches } from "../rules/selectors.ts";
import { consumesCounters } from "../rules/shared-counters.ts";
import { untolerated } from "../rules/taints.ts";
import type { Base, Taken } from "./allocating-state.ts";
import { infeasible } from "./infeasible.ts";
import type { Option, Problem } from "./problem.ts";

/**
 * Which devices of a node are interchangeable for the claims at hand: the same answers of selectors and taints, the same
 * attributes in constraints, counters and capacity, held by nobody or by claims alike. Where one leads nowhere, the
 * others do neither.
 */
export class Equivalence {
  /** The same text for interchangeable devices. */
  readonly kinds: readonly string[];
  /** There is no solution. */
  readonly impossible: boolean;
  readonly #usable: ReadonlyMap<Option, Uint8Array> | undefined;

  constructor(problem: Problem, taken: Taken) {
    const options = problem.claims.flatMap(({ requests }) => requests.flatMap(({ options }) => options));
    const names = problem.claims.flatMap(({ constraints }) => constraints.map(({ attribute }) => attribute));
    const kinds: string[] = [];
    let mayFail = options.some(({ all, constraints }) => all !== undefined && constraints.length > 0);
    for (let position = 0; position < problem.devices.length; position++) {
      const parts = [...new Set(names)].map((name) => attributeText(problem, undefined, position, name));
      let unique = false;
      for (const option of options) {
        const text = this.#answers(problem, option, position, taken);
        if (text === undefined) {
          unique = true;
          mayFail = true;
        } else parts.push(text);
        // The devices of mode All are taken in order, and the first that breaks a constraint is an error.
        if (option.constraints.length > 0 && option.all?.includes(position) === true) unique = true;
      }
      kinds.push(
        unique
          ? `device ${position}`
          : [...parts, this.#dynamic(problem, position, taken.base(position))].join("\n"),
      );
    }
    this.kinds = shortened(kinds);
    // Some device would fail the whole attempt if the search came to it: nothing may be skipped but equal states.
    const found = mayFail ? undefined : infeasible(problem, taken);
    this.impossible = found === true;
    this.#usable = found === true ? undefined : found;
  }

  /** Devices that may be in a solution at all (1), by position; undefined: nothing is known. */
  usable(option: Option): Uint8Array | undefined {
    return this.#usable?.get(option);
  }

  /** What a request says of a device; undefined: it fails. */
  #answers(problem: Problem, option: Option, position: number, taken: Taken): string | undefined {
    const verdict = problem.verdict(option, position);
    if (verdict === fails) return undefined;
    const listed = option.all?.includes(position) === true ? "all" : "";
    if (verdict !== matches) return listed;
    const demand = problem.demand(option, position);
    if (demand.type === "error") return undefined;
    const tainted = untolerated(taken.taints(position), option.alternative.tolerations) !== undefined;
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

  #dynamic(problem: Problem, position: number, base: Base): string {
    const { device, slice, driver, pool } = problem.devices[position]!;
    const parts: unknown[] = [base.owned, slice.spec.skipNodeOperations];
    if (consumesCounters(device)) parts.push(driver, pool, device.consumesCounters, base.shared);
    if (problem.features.consumableCapacity) {
      const consumed = [...(base.consumed ?? [])].sort().join();
      parts.push(device.capacity, device.allowMultipleAllocations, consumed);
    }
    return JSON.stringify(parts);
  }
}

/** What constraints compare of an attribute, as text; undefined: it fails. */
function attributeText(
  problem: Problem,
  option: Option | undefined,
  position: number,
  name: string,
): string | undefined {
  const record = problem.devices[position]!;
  try {
    const value =
      option === undefined ? publishedAttribute(record, name) : problem.attribute(option, record, name);
    return textOf(valuesOf(value, problem.features.listTypeAttributes));
  } catch (error) {
    if (error instanceof AllocationError) return undefined;
    throw error;
  }
}

/** Numbers in place of long texts. */
function shortened(texts: readonly string[]): string[] {
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
