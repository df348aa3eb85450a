import { CelError, type Value } from "../../values/value.ts";
import { spend } from "../frame.ts";
import type { Invocation } from "../invocation.ts";
import type { Invoke } from "../ir.ts";
import type { Plan, Step } from "./step.ts";

export function invoke({ call, args: nodes }: Invoke, plan: Plan): Step {
  const args = nodes.map(plan);
  if (call.prepaid || args.length > 2 || call.stopsEarly) return invokeAny(call, args);
  const { invoke, cost } = call;
  const [first, second] = args as [Step, Step];
  if (args.length === 0) {
    return (frame) => {
      spend(frame, 1);
      return invoke(null, null, null, null);
    };
  }
  if (args.length === 1) {
    return (frame) => {
      const a = first(frame);
      const result = a instanceof CelError ? a : invoke(a, null, null, null);
      spend(frame, typeof cost === "number" ? cost : cost(a, null, null, result));
      return result;
    };
  }
  return (frame) => {
    const a = first(frame);
    const b = second(frame);
    const result = a instanceof CelError ? a : b instanceof CelError ? b : invoke(a, b, null, null);
    spend(frame, typeof cost === "number" ? cost : cost(a, b, null, result));
    return result;
  };
}

function invokeAny({ invoke, cost, prepaid, stopsEarly }: Invocation, args: readonly Step[]): Step {
  return (frame) => {
    const values: Value[] = [];
    let error: CelError | undefined;
    for (let i = 0; i < args.length; i++) {
      const value = args[i]!(frame);
      values.push(value);
      if (!(value instanceof CelError)) continue;
      error ??= value;
      if (stopsEarly && i < args.length - 1) return error;
    }
    const [a = null, b = null, c = null, d = null] = values;
    if (prepaid) {
      spend(frame, typeof cost === "number" ? cost : cost(a, b, c, null));
      return error ?? invoke(a, b, c, d);
    }
    const result = error ?? invoke(a, b, c, d);
    spend(frame, typeof cost === "number" ? cost : cost(a, b, c, result));
    return result;
  };
}
