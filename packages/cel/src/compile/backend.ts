import { CelError, Panic, type Value } from "../values/value.ts";
import { closures } from "./closures/closures.ts";
import type { Step } from "./closures/step.ts";
import { CostLimitExceeded, type Frame } from "./frame.ts";
import { generate } from "./generate/generate.ts";
import type { Node } from "./ir.ts";

/**
 * How programs run: as generated JavaScript, or as closures where a Content-Security-Policy forbids generated
 * code.
 */
export type Backend = "generated" | "closures";

/**
 * Evaluates with the variables of the frame; undefined if the cost limit was exceeded. Leaves the cost in the
 * frame.
 */
export type Evaluator = (frame: Frame) => Value | undefined;

/**
 * Returns a function that makes evaluators with the named back end, by default the fastest one that is
 * permitted.
 */
export function createBackend(name?: Backend): (root: Node) => Evaluator {
  let backend = name;
  return (root) => {
    backend ??= canGenerate() ? "generated" : "closures";
    return backend === "generated" ? generated(root) : exact(root);
  };
}

/** Reports whether the Content-Security-Policy allows generated code. */
function canGenerate(): boolean {
  try {
    return new Function("return true")() === true;
  } catch {
    return false;
  }
}

function generated(root: Node): Evaluator {
  const exactly = exact(root);
  const fast = generate(root);
  if (fast === undefined) return exactly;
  return (frame) => {
    frame.budget.reset();
    try {
      const value = fast(frame);
      if (frame.cost <= frame.limit) return value;
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof Panic)) throw error;
    }
    // Generated code does not check the limit at every step: closures find the step that exceeds it.
    return exactly(frame);
  };
}

/** Evaluates with closures, which stop where the limit is exceeded. They are made at the first evaluation. */
function exact(root: Node): Evaluator {
  let step: Step | undefined;
  return (frame) => {
    step ??= closures(root);
    frame.cost = 0;
    frame.budget.reset();
    try {
      return step(frame);
    } catch (error) {
      if (error instanceof CostLimitExceeded) return undefined;
      if (error instanceof Panic) return error.error;
      // A string or list exceeds a limit of the engine, or the element budget: results are charged, attempts
      // are not.
      if (error instanceof RangeError) return new CelError(`internal error: ${error.message}`);
      throw error;
    }
  };
}
