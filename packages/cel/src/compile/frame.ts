import type { PreparedDevice } from "../device/prepared-device.ts";
import type { ElementBudget } from "../values/element-budget.ts";
import type { Value } from "../values/value.ts";

/** The state of an evaluation. A program has one frame and reuses it: its evaluations do not overlap. */
export class Frame {
  /** Maximum cost. */
  limit = 0;
  /** The cost so far, in cel-go's units. */
  cost = 0;
  /** Variables of loops and bindings, by slot. */
  readonly locals: (Value | undefined)[];
  /** Variables of the environment, by index. */
  variables: readonly (Value | undefined)[] = [];
  /** The variable `device` of selectors, which has no index. */
  device: PreparedDevice | undefined;
  /** The budget of the program's functions. */
  readonly budget: ElementBudget;

  constructor(slots: number, budget: ElementBudget) {
    this.locals = new Array<Value | undefined>(slots).fill(undefined);
    this.budget = budget;
  }
}

/** Thrown by closures when the cost exceeds the limit. */
export class CostLimitExceeded extends Error {}

/** Adds to the cost. Throws CostLimitExceeded. */
export function spend(frame: Frame, cost: number): void {
  frame.cost += cost;
  if (frame.cost > frame.limit) throw new CostLimitExceeded();
}

/** Returns a variable of the environment; undefined if the evaluation has no value for it. */
export function variable(frame: Frame, index: number): Value | undefined {
  return index === deviceIndex ? frame.device?.value : frame.variables[index];
}

/** The index of the variable `device` of selectors. */
export const deviceIndex = -1;
