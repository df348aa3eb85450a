import { LiteralMap } from "../../values/maps.ts";
import { CelError, Optional, type Value } from "../../values/value.ts";
import { type Frame, spend, variable } from "../frame.ts";
import type { Chain, Insert, Lazy, Loop, MakeList, MakeMap, MakeMessage, Node, Presence } from "../ir.ts";
import {
  append,
  badKey,
  bound,
  fallback,
  insert,
  iterated,
  lookup,
  lookupField,
  memberAt,
  neither,
  notIterable,
  pushOptional,
  setOptional,
  setOptionalField,
  take,
  takeField,
  undecided,
} from "../runtime.ts";
import { invoke } from "./calls.ts";
import type { Step } from "./step.ts";

/** The back end for platforms that forbid generated code, and the exact one: it stops where the limit is met. */
export function closures(node: Node): Step {
  switch (node.kind) {
    case "constant":
      return () => node.value;
    case "made":
      return (frame) => {
        spend(frame, node.cost);
        return node.value;
      };
    case "variable": {
      const missing = new CelError(`no such attribute(s): ${node.name}`);
      return (frame) => {
        const value = variable(frame, node.index);
        return value === undefined ? missing : value;
      };
    }
    case "local":
      return (frame) => frame.locals[node.slot]!;
    case "lazy": {
      const init = initial(node);
      return (frame) => {
        const known = frame.locals[node.slot];
        if (known !== undefined) return known;
        const value = bound(init(frame));
        frame.locals[node.slot] = value;
        return value;
      };
    }
    case "chain":
      return node.qualifiers.length === 0 ? alone(node) : chain(node);
    case "presence":
      return presence(node);
    case "logical": {
      const { stop } = node;
      const [left, right] = [closures(node.left), closures(node.right)];
      return (frame) => {
        const a = left(frame);
        if (a === stop) return stop;
        const b = right(frame);
        return b === stop ? stop : neither(a, b, stop);
      };
    }
    case "conditional": {
      const [condition, yes, no] = [closures(node.condition), closures(node.yes), closures(node.no)];
      return (frame) => {
        const value = condition(frame);
        if (value === true) return yes(frame);
        return value === false ? no(frame) : undecided(value);
      };
    }
    case "invoke":
      return invoke(node.call, node.args.map(closures));
    case "guard": {
      const operand = closures(node.operand);
      return (frame) => {
        const value = operand(frame);
        spend(frame, 1);
        return value instanceof CelError ? true : value;
      };
    }
    case "fallback": {
      const [target, other] = [closures(node.target), closures(node.other)];
      return (frame) => {
        const value = fallback(target(frame), node.name);
        return value === undefined ? other(frame) : value;
      };
    }
    case "member": {
      const needle = closures(node.needle);
      return (frame) => node.set.has(needle(frame));
    }
    case "list":
      return makeList(node);
    case "map":
      return makeMap(node);
    case "message":
      return message(node);
    case "append": {
      const element = closures(node.element);
      return (frame) => {
        spend(frame, 1);
        const value = element(frame);
        spend(frame, node.makes);
        spend(frame, 1);
        return append(frame.locals[node.slot]!, value);
      };
    }
    case "insert":
      return insertion(node);
    case "loop":
      return loop(node);
    case "bind": {
      const result = closures(node.result);
      return (frame) => {
        frame.locals[node.slot] = undefined;
        return result(frame);
      };
    }
  }
}

const initials = new WeakMap<Lazy, Step>();

/** What a bound variable starts as: made ready once, however often the variable is used. */
function initial(node: Lazy): Step {
  const step = initials.get(node) ?? closures(node.init);
  initials.set(node, step);
  return step;
}

function alone({ base, own }: Chain): Step {
  const value = closures(base);
  if (own === 0) return value;
  return (frame) => {
    const result = value(frame);
    spend(frame, 1);
    return result;
  };
}

function chain(node: Chain): Step {
  const { own } = node;
  return walker(node, (frame, value, optional) => {
    spend(frame, own);
    if (value === undefined) return Optional.none;
    return optional && !(value instanceof CelError) ? new Optional(value) : value;
  });
}

/** Goes on from where the accesses of a chain led; undefined where an optional one found nothing. */
type Arrival = (frame: Frame, value: Value | undefined, optional: boolean) => Value;

/** Takes the accesses of a chain. Once one is optional, or the base is an optional value, all are. */
function walker({ base, qualifiers }: Chain, arrive: Arrival): Step {
  const start = closures(base);
  const keys = qualifiers.map(({ key, optional, declared }) => ({
    key: closures(key),
    optional,
    get: declared ? takeField : take,
  }));
  return (frame) => {
    let value: Value | undefined = start(frame);
    let optional = value instanceof Optional;
    if (value instanceof Optional) value = value.value;
    for (const qualifier of keys) {
      if (value === undefined || value instanceof CelError) break;
      optional ||= qualifier.optional;
      const key = qualifier.key(frame);
      value = badKey(key) ?? (optional ? lookup(value, key) : qualifier.get(value, key));
      if (value !== undefined && !(optional && value instanceof CelError)) spend(frame, 1);
    }
    return arrive(frame, value, optional);
  };
}

function presence({ chain, field, own, declared }: Presence): Step {
  const find = declared ? lookupField : lookup;
  return walker(chain, (frame, value, optional) => {
    if (value instanceof CelError) {
      frame.cost += own;
      return value;
    }
    const found = value === undefined ? undefined : find(value, field);
    const counts = optional ? found !== undefined && !(found instanceof CelError) : true;
    // What is taken off again counts against the limit first.
    spend(frame, counts ? 1 : 0);
    frame.cost += own;
    return found instanceof CelError ? found : found !== undefined;
  });
}

function makeList({ elements, optional }: MakeList): Step {
  const steps = elements.map(closures);
  return (frame) => {
    const list: Value[] = [];
    let error: CelError | undefined;
    for (let i = 0; i < steps.length && error === undefined; i++) {
      const value = steps[i]!(frame);
      if (value instanceof CelError) error = value;
      else if (optional.has(i)) error = pushOptional(list, value);
      else list.push(value);
    }
    spend(frame, 10);
    return error ?? list;
  };
}

function makeMap(node: MakeMap): Step {
  const entries = node.entries.map(({ key, value, optional }) => ({
    key: closures(key),
    value: closures(value),
    optional,
  }));
  return (frame) => {
    const map = new LiteralMap();
    let error: CelError | undefined;
    for (const entry of entries) {
      const key = entry.key(frame);
      const value = key instanceof CelError ? key : entry.value(frame);
      if (value instanceof CelError) error = value;
      else if (entry.optional) error = setOptional(map, key, value);
      else map.set(key, value);
      if (error !== undefined) break;
    }
    spend(frame, 30);
    return error ?? map;
  };
}

function message({ type, fields }: MakeMessage): Step {
  const steps = fields.map(({ name, value, optional }) => ({ name, value: closures(value), optional }));
  return (frame) => {
    const made = new Map<string, Value>();
    let error: CelError | undefined;
    for (const field of steps) {
      const value = field.value(frame);
      if (value instanceof CelError) error = value;
      else if (field.optional) error = setOptionalField(made, field.name, value);
      else made.set(field.name, value);
      if (error !== undefined) break;
    }
    spend(frame, 40);
    return error ?? type.make(made);
  };
}

function insertion({ slot, args }: Insert): Step {
  const steps = args.map(closures);
  return (frame) => {
    spend(frame, 1);
    const map = frame.locals[slot]!;
    // With three arguments the first error ends the call, and only that of the last one is paid for.
    const two = steps.length === 2;
    if (two && map instanceof CelError) return map;
    const key = steps[0]!(frame);
    if (two && key instanceof CelError) return key;
    const value = two ? steps[1]!(frame) : undefined;
    spend(frame, 1);
    return insert(map, key, value);
  };
}

function loop(node: Loop): Step {
  const [range, condition, step, result] = [
    closures(node.range),
    closures(node.condition),
    closures(node.step),
    closures(node.result),
  ];
  const { slot, first, second, init } = node;
  return (frame) => {
    const over = range(frame);
    const items = iterated(over);
    if (items === undefined) return notIterable(over, second !== undefined);
    const indexed = second !== undefined && Array.isArray(over);
    const { locals } = frame;
    let accumulated = init;
    for (let i = 0; i < items.length; i++) {
      locals[slot] = accumulated;
      locals[first] = indexed ? BigInt(i) : items[i]!;
      if (second !== undefined) locals[second] = memberAt(over, items, i);
      if (condition(frame) === false) break;
      accumulated = step(frame);
    }
    locals[slot] = accumulated;
    return result(frame);
  };
}
