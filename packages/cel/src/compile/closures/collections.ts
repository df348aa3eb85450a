import { LiteralMap } from "../../values/maps.ts";
import { CelError, type Value } from "../../values/value.ts";
import { spend } from "../frame.ts";
import type { Append, Insert, Loop, MakeList, MakeMap, MakeMessage } from "../ir.ts";
import {
  append as appendTo,
  elementAt,
  insert as insertInto,
  iterationItems,
  notIterable,
  pushOptional,
  setOptional,
  setOptionalField,
} from "../runtime.ts";
import type { Plan, Step } from "./step.ts";

export function list({ elements, optional }: MakeList, plan: Plan): Step {
  const steps = elements.map(plan);
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

export function map(node: MakeMap, plan: Plan): Step {
  const entries = node.entries.map(({ key, value, optional }) => ({
    key: plan(key),
    value: plan(value),
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

export function message({ type, fields }: MakeMessage, plan: Plan): Step {
  const steps = fields.map(({ name, value, optional }) => ({ name, value: plan(value), optional }));
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

export function append({ slot, element: node, makes }: Append, plan: Plan): Step {
  const element = plan(node);
  return (frame) => {
    spend(frame, 1);
    const value = element(frame);
    spend(frame, makes);
    spend(frame, 1);
    return appendTo(frame.locals[slot]!, value);
  };
}

export function insert({ slot, args }: Insert, plan: Plan): Step {
  const steps = args.map(plan);
  return (frame) => {
    spend(frame, 1);
    const map = frame.locals[slot]!;
    // With a key and a value the first error ends the call, and only that of the value is charged.
    const two = steps.length === 2;
    if (two && map instanceof CelError) return map;
    const key = steps[0]!(frame);
    if (two && key instanceof CelError) return key;
    const value = two ? steps[1]!(frame) : undefined;
    spend(frame, 1);
    return insertInto(map, key, value);
  };
}

export function loop(node: Loop, plan: Plan): Step {
  const [range, condition, step, result] = [
    plan(node.range),
    plan(node.condition),
    plan(node.step),
    plan(node.result),
  ];
  const { slot, first, second, init } = node;
  return (frame) => {
    const over = range(frame);
    const items = iterationItems(over);
    if (items === undefined) return notIterable(over, second !== undefined);
    const indexed = second !== undefined && Array.isArray(over);
    const { locals } = frame;
    let accumulated = init;
    for (let i = 0; i < items.length; i++) {
      locals[slot] = accumulated;
      locals[first] = indexed ? BigInt(i) : items[i]!;
      if (second !== undefined) locals[second] = elementAt(over, items, i);
      if (condition(frame) === false) break;
      accumulated = step(frame);
    }
    locals[slot] = accumulated;
    return result(frame);
  };
}
