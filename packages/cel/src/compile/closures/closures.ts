import { CelError } from "../../values/value.ts";
import { spend, variable } from "../frame.ts";
import type { Bind, Conditional, Fallback, Lazy, Logical, Node, NotStrictlyFalse, Variable } from "../ir.ts";
import { bindingValue, conditionError, fallback as fallbackOf, logicalResult } from "../runtime.ts";
import { chain, presence } from "./access.ts";
import { invoke } from "./calls.ts";
import { append, insert, list, loop, map, message } from "./collections.ts";
import type { Plan, Step } from "./step.ts";

/**
 * The back end for platforms that forbid generated code. It is also the exact one: it stops at the step that
 * exceeds the cost limit.
 */
export function closures(root: Node): Step {
  // A bound variable is planned once, however often it is used: else the steps could grow exponentially.
  const initials = new Map<Lazy, Step>();
  const plan: Plan = (node) => {
    if (node.kind !== "lazy") return step(node, plan);
    const initial = initials.get(node) ?? plan(node.init);
    initials.set(node, initial);
    return lazy(node, initial);
  };
  return plan(root);
}

function step(node: Exclude<Node, Lazy>, plan: Plan): Step {
  switch (node.kind) {
    case "constant":
      return () => node.value;
    case "folded":
      return (frame) => {
        spend(frame, node.cost);
        return node.value;
      };
    case "variable":
      return global(node);
    case "local":
      return (frame) => frame.locals[node.slot]!;
    case "chain":
      return chain(node, plan);
    case "presence":
      return presence(node, plan);
    case "logical":
      return logical(node, plan);
    case "conditional":
      return conditional(node, plan);
    case "invoke":
      return invoke(node, plan);
    case "notStrictlyFalse":
      return notStrictlyFalse(node, plan);
    case "fallback":
      return fallback(node, plan);
    case "inSet": {
      const needle = plan(node.needle);
      return (frame) => node.set.has(needle(frame));
    }
    case "list":
      return list(node, plan);
    case "map":
      return map(node, plan);
    case "message":
      return message(node, plan);
    case "append":
      return append(node, plan);
    case "insert":
      return insert(node, plan);
    case "loop":
      return loop(node, plan);
    case "bind":
      return bind(node, plan);
  }
}

function global({ name, index }: Variable): Step {
  const missing = new CelError(`no such attribute(s): ${name}`);
  return (frame) => {
    const value = variable(frame, index);
    return value === undefined ? missing : value;
  };
}

function lazy({ slot }: Lazy, initial: Step): Step {
  return (frame) => {
    const known = frame.locals[slot];
    if (known !== undefined) return known;
    const value = bindingValue(initial(frame));
    frame.locals[slot] = value;
    return value;
  };
}

function bind({ slot, result: node }: Bind, plan: Plan): Step {
  const result = plan(node);
  return (frame) => {
    frame.locals[slot] = undefined;
    return result(frame);
  };
}

function logical(node: Logical, plan: Plan): Step {
  const { stop } = node;
  const [left, right] = [plan(node.left), plan(node.right)];
  return (frame) => {
    const a = left(frame);
    if (a === stop) return stop;
    const b = right(frame);
    return b === stop ? stop : logicalResult(a, b, stop);
  };
}

function conditional(node: Conditional, plan: Plan): Step {
  const [condition, yes, no] = [plan(node.condition), plan(node.yes), plan(node.no)];
  return (frame) => {
    const value = condition(frame);
    if (value === true) return yes(frame);
    return value === false ? no(frame) : conditionError(value);
  };
}

function notStrictlyFalse(node: NotStrictlyFalse, plan: Plan): Step {
  const operand = plan(node.operand);
  return (frame) => {
    const value = operand(frame);
    spend(frame, 1);
    return value instanceof CelError ? true : value;
  };
}

function fallback({ target: node, other: otherNode, name }: Fallback, plan: Plan): Step {
  const [target, other] = [plan(node), plan(otherNode)];
  return (frame) => {
    const value = fallbackOf(target(frame), name);
    return value === undefined ? other(frame) : value;
  };
}
