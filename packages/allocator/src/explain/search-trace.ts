import { AllocationError } from "../rules/allocation-error.ts";
import type { Taken } from "../search/allocating-state.ts";
import type { Option, Problem } from "../search/problem.ts";
import { type Observer, type Picked, Search } from "../search/search.ts";
import { capacityRefusal, counterRefusal, plain, type Refusal } from "./refusals.ts";

/** What a search has seen of one option. */
export interface Seen {
  /** Devices that the deepest partial solution gives it. */
  readonly chosen: readonly number[];
  /** For each device why it was refused in the deepest partial solution that met it. */
  readonly refusals: ReadonlyMap<number, Refusal>;
}

/** Watches a search that fails, and keeps what happened where it had come furthest. */
export class Witness implements Observer {
  #problem: Problem | undefined;
  #depth = 0;
  #deepest: readonly Picked[] = [];
  #picks: readonly Picked[] = [];
  readonly #refusals = new Map<Option, Map<number, { readonly depth: number; readonly refusal: Refusal }>>();

  /** Searches until there is an answer, or enough was seen. */
  watch(problem: Problem, mostSteps: number): void {
    this.#problem = problem;
    let steps = 0;
    try {
      new Search(problem, this).run(() => ++steps > mostSteps);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
    }
  }

  picked(picks: readonly Picked[]): void {
    this.#picks = picks;
    if (picks.length <= this.#depth) return;
    this.#depth = picks.length;
    this.#deepest = picks;
  }

  refused(check: Refusal["check"], option: Option, position: number, taken: Taken, constraint: number): void {
    let known = this.#refusals.get(option);
    if (known === undefined) {
      known = new Map();
      this.#refusals.set(option, known);
    }
    const depth = this.#picks.length;
    if ((known.get(position)?.depth ?? -1) >= depth) return;
    known.set(position, { depth, refusal: this.#refusal(check, option, position, taken, constraint) });
  }

  of(claim: number, request: number, option: number): Seen {
    const found = this.#problem?.claims[claim]?.requests[request]?.options[option];
    if (found === undefined) return { chosen: [], refusals: new Map() };
    const refusals = [...(this.#refusals.get(found) ?? [])].map(
      ([position, { refusal }]) => [position, refusal] as const,
    );
    return {
      chosen: this.#deepest.filter((pick) => pick.option === found).map(({ position }) => position),
      refusals: new Map(refusals),
    };
  }

  #refusal(
    check: Refusal["check"],
    option: Option,
    position: number,
    taken: Taken,
    constraint: number,
  ): Refusal {
    const problem = this.#problem!;
    switch (check) {
      case "constraint":
        return this.#brokenConstraint(option, position, constraint);
      case "counter":
        return (
          counterRefusal(problem, option, position, taken) ?? { check, cause: "its counters are used up" }
        );
      case "capacity":
        return (
          capacityRefusal(problem, option, position, taken) ?? { check, cause: "its capacity is used up" }
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

  #brokenConstraint(option: Option, position: number, index: number): Refusal {
    const problem = this.#problem!;
    const constraint = option.constraints[index]!;
    const { kind, attribute } = constraint;
    const attributeOf = (of: Option, at: number): unknown =>
      plain(problem.attribute(of, problem.devices[at]!, attribute));
    const value = attributeOf(option, position);
    if (value === undefined) {
      return {
        check: "constraint",
        cause: `${kind} ${attribute}: the device has no such attribute`,
        constraint: { kind, attribute },
      };
    }
    const other = constraint.against(problem.attribute(option, problem.devices[position]!, attribute));
    const pick = this.#picks.find((pick) => problem.devices[pick.position] === other);
    if (other === undefined || pick === undefined) {
      const cause = `${kind} ${attribute}: ${JSON.stringify(value)} cannot be compared`;
      return { check: "constraint", cause, constraint: { kind, attribute, value } };
    }
    const theirs = attributeOf(pick.option, pick.position);
    const difference =
      kind === "matchAttribute"
        ? `${text(value)} here, ${text(theirs)} on ${other.id}`
        : `${text(value)} here and on ${other.id}`;
    return {
      check: "constraint",
      cause: `${kind} ${attribute}: ${difference}`,
      constraint: { kind, attribute, value, other: theirs, otherDevice: other.id },
    };
  }
}

const text = (value: unknown): string => JSON.stringify(value);
