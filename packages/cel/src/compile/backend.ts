import { beginEvaluation } from "../values/budget.ts";
import { CelError, Panic, type Value } from "../values/value.ts";
import { closures } from "./closures/closures.ts";
import type { Step } from "./closures/step.ts";
import { CostLimitExceeded, type Frame } from "./frame.ts";
import { generate } from "./generate/generate.ts";
import type { Lowered } from "./ir.ts";

/** How expressions are run: as generated JavaScript, or as closures where the platform forbids that. */
export type Backend = "generated" | "closures";

/** Evaluates with what is in the frame; undefined where the limit was exceeded. What was spent is left in the frame. */
export type Runner = (frame: Frame) => Value | undefined;

let permitted: boolean | undefined;

/** Whether code may be generated here: a Content-Security-Policy can forbid it. Found out once, by trying. */
function mayGenerate(): boolean {
  if (permitted === undefined) {
    try {
      permitted = new Function("return true")() === true;
    } catch {
      permitted = false;
    }
  }
  return permitted;
}

/** Makes an expression ready to run, by the named back end or the best one there is. */
export function runner({ root }: Lowered, backend?: Backend): Runner {
  let exact: Step | undefined;
  const exactly: Runner = (frame) => {
    exact ??= closures(root);
    return runExactly(exact, frame);
  };
  if (backend === "closures" || (backend === undefined && !mayGenerate())) return exactly;
  const fast = generate(root);
  if (fast === undefined) return exactly;
  return (frame) => {
    beginEvaluation();
    try {
      const value = fast(frame);
      if (frame.cost <= frame.limit) return value;
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof Panic)) throw error;
    }
    // Generated code does not look at the limit at every step: the closures find the place where it was exceeded.
    return exactly(frame);
  };
}

function runExactly(step: Step, frame: Frame): Value | undefined {
  frame.cost = 0;
  beginEvaluation();
  try {
    return step(frame);
  } catch (error) {
    if (error instanceof CostLimitExceeded) return undefined;
    if (error instanceof Panic) return error.error;
    // A string or list beyond what the engine can hold; costs are charged for what comes out, not for trying.
    if (error instanceof RangeError) return new CelError(`internal error: ${error.message}`);
    throw error;
  }
}
