import type { PreparedDevice } from "../device/prepared-device.ts";
import type { Value } from "../values/value.ts";

/** One evaluation. A program keeps a single one and uses it again: evaluations do not overlap. */
export class Frame {
  limit = 0;
  /** Spent so far, in the units of cel-go. */
  cost = 0;
  /** Variables of loops and bindings, by slot. */
  readonly locals: (Value | undefined)[];
  /** Variables of the environment, by place. */
  variables: readonly (Value | undefined)[] = [];
  /** The variable `device` of a selector, which has no place among the others. */
  device: PreparedDevice | undefined;

  constructor(slots: number) {
    this.locals = new Array<Value | undefined>(slots).fill(undefined);
  }
}

/** Thrown by closures when more was spent than the limit allows. */
export class CostLimitExceeded extends Error {}

export function spend(frame: Frame, cost: number): void {
  frame.cost += cost;
  if (frame.cost > frame.limit) throw new CostLimitExceeded();
}

/** What of a variable there is to see: an environment may declare more than an evaluation brings. */
export function variable(frame: Frame, index: number): Value | undefined {
  return index === deviceIndex ? frame.device?.value : frame.variables[index];
}

/** Stands for the place of the variable `device` of selectors. */
export const deviceIndex = -1;
