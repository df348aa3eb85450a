import { AllocationError } from "../devices/allocation-error.ts";
import type { AllocatingState } from "../search/allocating-state.ts";
import type { Option, Problem } from "../search/problem.ts";
import { type PickedDevice, Search, type SearchObserver } from "../search/search.ts";
import { capacityRefusal, counterRefusal, plainValue, type Refusal } from "./refusals.ts";

/** Trace of a search for one option. */
export interface OptionTrace {
  /** Devices in the deepest partial solution. */
  readonly chosen: readonly number[];
  /** By device, the reason of its refusal in the deepest partial solution that checked it. */
  readonly refusals: ReadonlyMap<number, Refusal>;
}

/** Runs a search that fails, and records the refusals in its deepest partial solution. */
export class SearchTrace implements SearchObserver {
  readonly #problem: Problem;
  #deepest: readonly PickedDevice[] = [];
  #picks: readonly PickedDevice[] = [];
  readonly #refusals = new Map<Option, Map<number, { readonly depth: number; readonly refusal: Refusal }>>();

  constructor(problem: Problem) {
    this.#problem = problem;
  }

  /** Searches until the end, or for a number of steps. */
  run(maxSteps: number): void {
    let steps = 0;
    try {
      new Search(this.#problem, this).run(() => ++steps > maxSteps);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
    }
  }

  picked(picks: readonly PickedDevice[]): void {
    this.#picks = picks;
    if (picks.length > this.#deepest.length) this.#deepest = picks;
  }

  refused(check: Refusal["check"], option: Option, position: number, allocating: AllocatingState): void {
    this.#keep(option, position, () => this.#refusal(check, option, position, allocating));
  }

  refusedByConstraint(option: Option, position: number, index: number): void {
    this.#keep(option, position, () => this.#constraintRefusal(option, position, index));
  }

  #keep(option: Option, position: number, refusal: () => Refusal): void {
    let byDevice = this.#refusals.get(option);
    if (byDevice === undefined) {
      byDevice = new Map();
      this.#refusals.set(option, byDevice);
    }
    const depth = this.#picks.length;
    if ((byDevice.get(position)?.depth ?? -1) >= depth) return;
    byDevice.set(position, { depth, refusal: refusal() });
  }

  /** Returns the trace of an option, by its indexes. */
  of(claim: number, request: number, option: number): OptionTrace {
    const found = this.#problem.claims[claim]?.requests[request]?.options[option];
    if (found === undefined) return { chosen: [], refusals: new Map() };
    const refusals = [...(this.#refusals.get(found) ?? [])].map(
      ([position, { refusal }]) => [position, refusal] as const,
    );
    return {
      chosen: this.#deepest.filter((pick) => pick.option === found).map(({ position }) => position),
      refusals: new Map(refusals),
    };
  }

  #refusal(check: Refusal["check"], option: Option, position: number, allocating: AllocatingState): Refusal {
    const problem = this.#problem;
    switch (check) {
      case "counter":
        return (
          counterRefusal(problem, option, position, allocating) ?? {
            check,
            cause: "its counters are used up",
          }
        );
      case "capacity":
        return (
          capacityRefusal(problem, option, position, allocating) ?? {
            check,
            cause: "its capacity is used up",
          }
        );
      case "compatibility-group": {
        const sets = (problem.devices[position]!.device.consumesCounters ?? []).map(
          ({ counterSet, compatibilityGroups }) =>
            `${counterSet} [${(compatibilityGroups ?? []).join(", ")}]`,
        );
        return {
          check,
          cause: `no compatibility group in common with the devices on its counter sets: ${sets.join(", ")}`,
        };
      }
      case "in-use": {
        const pick = this.#picks.find((other) => other.position === position);
        const { alternative } = pick?.option ?? option;
        return { check, cause: `picked for ${alternative.where}` };
      }
      default:
        return { check, cause: check };
    }
  }

  #constraintRefusal(option: Option, position: number, index: number): Refusal {
    const problem = this.#problem;
    const constraint = option.constraints[index]!;
    const { kind, attribute } = constraint;
    const attributeOf = (of: Option, at: number): unknown =>
      plainValue(problem.attribute(of, problem.devices[at]!, attribute));
    const value = attributeOf(option, position);
    if (value === undefined) {
      return {
        check: "constraint",
        cause: `${kind} ${attribute}: the device has no such attribute`,
        constraint: { kind, attribute },
      };
    }
    const other = constraint.conflict(problem.attribute(option, problem.devices[position]!, attribute));
    const pick = this.#picks.find((pick) => problem.devices[pick.position] === other);
    if (other === undefined || pick === undefined) {
      const cause = `${kind} ${attribute}: ${JSON.stringify(value)} cannot be compared`;
      return { check: "constraint", cause, constraint: { kind, attribute, value } };
    }
    const otherValue = attributeOf(pick.option, pick.position);
    const difference =
      kind === "matchAttribute"
        ? `${JSON.stringify(value)} here, ${JSON.stringify(otherValue)} on ${other.id}`
        : `${JSON.stringify(value)} here and on ${other.id}`;
    return {
      check: "constraint",
      cause: `${kind} ${attribute}: ${difference}`,
      constraint: { kind, attribute, value, other: otherValue, otherDevice: other.id },
    };
  }
}
