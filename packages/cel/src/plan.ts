import { accumulatorName, type Call, type Comprehension, type Expr, type MapLiteral } from "./ast.ts";
import { type CallCost, callCost } from "./cost.ts";
import { quadratic } from "./cost-rules.ts";
import type { FunctionDeclaration, Implementation, Overload } from "./declarations.ts";
import {
  CelError,
  compareNumbers,
  equal,
  isOfType,
  LiteralMap,
  MapValue,
  noSuchOverload,
  Optional,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from "./values.ts";

/** What one evaluation has to hand. */
export interface Frame {
  readonly limit: number;
  /** Spent so far, in the units of cel-go. */
  cost: number;
  /** Variables of comprehensions, by slot. */
  readonly locals: Value[];
  readonly variables: ReadonlyMap<string, Value>;
}

/** One expression, ready to run. Errors are values; only the cost limit is thrown. */
export type Step = (frame: Frame) => Value;

/** Thrown when more was spent than the limit allows. */
export class CostLimitExceeded extends Error {}
/** The expression cannot be made ready to run. */
export class PlanError extends Error {
  override readonly name = "PlanError";
}

function spend(frame: Frame, cost: number): void {
  frame.cost += cost;
  if (frame.cost > frame.limit) throw new CostLimitExceeded();
}

const listCost = 10;
const mapCost = 30;

/** Conversions of constants are carried out once, when the expression is made ready. */
const folded = new Set(["bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"]);

/** Turns a checked expression into closures. Throws PlanError. */
export function plan(
  expr: Expr,
  functions: ReadonlyMap<string, FunctionDeclaration>,
  typeNames: ReadonlyMap<string, string>,
): { run: Step; slots: number } {
  const planner = new Planner(functions, typeNames);
  const run = planner.plan(expr).run;
  return { run, slots: planner.slots };
}

/** An expression and what is known of it before it runs. */
interface Planned {
  readonly run: Step;
  readonly constant?: Value;
  /** It is a chain of accesses, to which further ones can be added. */
  readonly access?: Access;
}

/** A value and the fields or indexes taken from it. cel-go counts one for the chain and one for each access. */
interface Access {
  /** The start of the chain, without the one unit that it costs. */
  readonly base: Step;
  readonly qualifiers: readonly Qualifier[];
  /** `c ? a : b` costs nothing itself and hands accesses on to its branches. */
  readonly free?: boolean;
}

interface Qualifier {
  /** The key: a constant or what computes it. */
  readonly key: Value | undefined;
  readonly computed?: Step;
  readonly optional: boolean;
}

class Planner {
  readonly #functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly #typeNames: ReadonlyMap<string, string>;
  readonly #scopes: { readonly name: string; readonly run: Step }[] = [];
  slots = 0;

  constructor(functions: ReadonlyMap<string, FunctionDeclaration>, typeNames: ReadonlyMap<string, string>) {
    this.#functions = functions;
    this.#typeNames = typeNames;
  }

  plan(expr: Expr): Planned {
    switch (expr.kind) {
      case "literal":
        return constant(expr.value);
      case "identifier":
        return this.#identifier(expr.name);
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "comprehension":
        return this.#comprehension(expr);
      case "struct":
        throw new PlanError(`unknown type: ${expr.name}`);
    }
  }

  #identifier(name: string): Planned {
    const plain = name.replace(/^\./, "");
    for (let i = this.#scopes.length - 1; i >= 0; i--) {
      const scope = this.#scopes[i]!;
      if (scope.name === plain) return access({ base: scope.run, qualifiers: [] });
    }
    const type = this.#typeNames.get(plain);
    if (type !== undefined) return constant(new TypeValue(type));
    const missing = new CelError(`no such attribute(s): ${plain}`);
    return access({ base: (frame) => frame.variables.get(plain) ?? missing, qualifiers: [] });
  }

  #select(expr: Expr & { kind: "select" }): Planned {
    const type = this.#typeNames.get(typePath(expr) ?? "");
    if (type !== undefined) return constant(new TypeValue(type));
    const operand = this.plan(expr.operand);
    if (expr.testOnly) return { run: presence(operand, expr.field) };
    return qualify(operand, { key: expr.field, optional: false });
  }

  #index(operand: Planned, index: Planned, optional: boolean): Planned {
    if (index.constant !== undefined) {
      return qualify(operand, { key: index.constant, optional });
    }
    return qualify(operand, { key: undefined, computed: index.run, optional });
  }

  #call(expr: Call): Planned {
    const operands = expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    const args = operands.map((arg) => this.plan(arg));
    switch (expr.name) {
      case "_&&_":
        return { run: logical(args[0]!.run, args[1]!.run, false) };
      case "_||_":
        return { run: logical(args[0]!.run, args[1]!.run, true) };
      case "_?_:_":
        return conditional(args[0]!.run, args[1]!, args[2]!);
      case "@not_strictly_false":
        return { run: notStrictlyFalse(args[0]!.run) };
      case "_[_]":
        return this.#index(args[0]!, args[1]!, false);
      case "_[?_]":
      case "_?._":
        return this.#index(args[0]!, args[1]!, true);
      case "or":
      case "orValue":
        if (expr.target !== undefined) return { run: fallback(args[0]!.run, args[1]!.run, expr.name) };
        break;
      case "dyn":
        if (args[0]!.constant !== undefined) return args[0]!;
        break;
      case "type":
        if (args[0]!.constant !== undefined) return constant(new TypeValue(typeName(args[0]!.constant)));
        break;
      case "@in": {
        const set = memberOf(args[0]!, args[1]!.constant);
        if (set !== undefined) return set;
        break;
      }
      default:
    }
    return this.#apply(expr, args);
  }

  #apply(expr: Call, args: readonly Planned[]): Planned {
    const declaration = this.#functions.get(expr.name);
    if (declaration === undefined) throw new PlanError(`unknown function: ${expr.name}`);
    const overloads = expr.overloads ?? declaration.overloads;
    const single = overloads.length === 1 ? overloads[0] : undefined;
    const invoke = implementation(declaration, single, expr.target !== undefined);
    const cost = callCost(expr.name, single?.id ?? "");
    const only = args[0];
    if (args.length === 1 && folded.has(expr.name) && only?.constant !== undefined) {
      const value = invoke(only.constant, null, null, null);
      if (value instanceof CelError) throw new PlanError(value.message);
      return constant(value);
    }
    const runs = args.map((arg) => arg.run);
    if (cost !== undefined && quadratic.has(expr.name)) return { run: paidFirst(runs, invoke, cost) };
    return { run: strict(runs, invoke, cost) };
  }

  #list(expr: Expr & { kind: "list" }): Planned {
    const elements = expr.elements.map((element) => this.plan(element));
    if (expr.optional.size === 0 && elements.every((element) => element.constant !== undefined)) {
      return constant(elements.map((element) => element.constant!));
    }
    const runs = elements.map((element) => element.run);
    const optional = expr.optional;
    const run: Step = (frame) => {
      const list: Value[] = [];
      for (let i = 0; i < runs.length; i++) {
        const value = runs[i]!(frame);
        if (value instanceof CelError) return value;
        if (!optional.has(i)) list.push(value);
        else if (!(value instanceof Optional)) return badOptional("", value);
        else if (value.value !== undefined) list.push(value.value);
      }
      spend(frame, listCost);
      return list;
    };
    return { run };
  }

  #map(expr: MapLiteral): Planned {
    const entries = expr.entries.map((entry) => ({
      key: this.plan(entry.key),
      value: this.plan(entry.value),
      optional: entry.optional,
    }));
    if (entries.every((e) => !e.optional && e.key.constant !== undefined && e.value.constant !== undefined)) {
      const map = new LiteralMap();
      for (const entry of entries) map.set(entry.key.constant!, entry.value.constant!);
      return constant(map);
    }
    const run: Step = (frame) => {
      const map = new LiteralMap();
      for (const entry of entries) {
        const key = entry.key.run(frame);
        if (key instanceof CelError) return key;
        const value = entry.value.run(frame);
        if (value instanceof CelError) return value;
        if (!entry.optional) map.set(key, value);
        else if (!(value instanceof Optional)) return badOptional(String(key), value);
        else if (value.value !== undefined) map.set(key, value.value);
      }
      spend(frame, mapCost);
      return map;
    };
    return { run };
  }

  #comprehension(expr: Comprehension): Planned {
    const range = this.plan(expr.range);
    const init = this.plan(expr.init);
    const slot = this.slots++;
    if (expr.accumulator !== accumulatorName) return this.#binding(expr, init, slot);
    const first = this.slots++;
    const second = this.slots++;
    const local =
      (index: number): Step =>
      (frame) =>
        frame.locals[index]!;
    this.#scopes.push({ name: expr.accumulator, run: local(slot) });
    this.#scopes.push({ name: expr.variable, run: local(first) });
    if (expr.variable2 !== undefined) this.#scopes.push({ name: expr.variable2, run: local(second) });
    const condition = this.plan(expr.condition).run;
    const step = this.plan(expr.step).run;
    this.#scopes.length -= expr.variable2 === undefined ? 1 : 2;
    const result = this.plan(expr.result).run;
    this.#scopes.length--;
    const two = expr.variable2 !== undefined;
    const run: Step = (frame) => {
      const over = range.run(frame);
      if (over instanceof CelError) return over;
      let accumulated = init.run(frame);
      const enter = (key: Value, value: Value): boolean => {
        frame.locals[slot] = accumulated;
        frame.locals[first] = key;
        frame.locals[second] = value;
        if (condition(frame) === false) return false;
        accumulated = step(frame);
        return true;
      };
      if (Array.isArray(over)) {
        for (let i = 0; i < over.length; i++) {
          if (!(two ? enter(BigInt(i), over[i]!) : enter(over[i]!, null))) break;
        }
      } else if (over instanceof MapValue) {
        for (const key of over.keys()) if (!enter(key, two ? over.find(key)! : null)) break;
      } else return notIterable(over, two);
      frame.locals[slot] = accumulated;
      return result(frame);
    };
    return { run };
  }

  /** `cel.bind`: the value is computed when it is first asked for, and kept. */
  #binding(expr: Comprehension, init: Planned, slot: number): Planned {
    const unset = new Optional(undefined);
    const get: Step = (frame) => {
      if (frame.locals[slot] === unset) frame.locals[slot] = init.run(frame);
      return frame.locals[slot]!;
    };
    this.#scopes.push({ name: expr.accumulator, run: get });
    const result = this.plan(expr.result).run;
    this.#scopes.pop();
    return {
      run: (frame) => {
        frame.locals[slot] = unset;
        return result(frame);
      },
    };
  }
}

function typePath(expr: Expr): string | undefined {
  if (expr.kind === "identifier") return expr.name;
  if (expr.kind !== "select") return undefined;
  const prefix = typePath(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}

function constant(value: Value): Planned {
  return { run: () => value, constant: value };
}

function access(chain: Access): Planned {
  return { run: resolve(chain), access: chain };
}

function qualify(operand: Planned, qualifier: Qualifier): Planned {
  const chain = operand.access ?? { base: operand.run, qualifiers: [] };
  if (chain.free === true) {
    // The accesses are handed on to the branches when they are resolved.
    return access({ ...chain, qualifiers: [...chain.qualifiers, qualifier] });
  }
  return access({ base: chain.base, qualifiers: [...chain.qualifiers, qualifier] });
}

function resolve(chain: Access): Step {
  const { base, qualifiers } = chain;
  const own = chain.free === true ? 0 : 1;
  if (qualifiers.length === 0) {
    return (frame) => {
      const value = base(frame);
      if (own > 0) spend(frame, own);
      return value;
    };
  }
  return (frame) => {
    const value = follow(frame, base(frame), qualifiers);
    if (own > 0) spend(frame, own);
    return value;
  };
}

/** Takes one field or index after the other; once one is optional, the rest is too. */
function follow(frame: Frame, start: Value, qualifiers: readonly Qualifier[]): Value {
  let value = start;
  if (value instanceof CelError) return value;
  let optional = value instanceof Optional;
  if (value instanceof Optional) {
    if (value.value === undefined) return value;
    value = value.value;
  }
  for (const qualifier of qualifiers) {
    const key = qualifier.computed === undefined ? qualifier.key! : qualifier.computed(frame);
    optional ||= qualifier.optional;
    if (key instanceof CelError) {
      spend(frame, 1);
      return key;
    }
    if (optional) {
      const found = lookup(value, key);
      if (found === undefined) return Optional.none;
      spend(frame, 1);
      value = found;
    } else {
      spend(frame, 1);
      value = take(value, key);
    }
    if (value instanceof CelError) return value;
  }
  return optional ? new Optional(value) : value;
}

/** The member of that key, or undefined; an error where the value has no members of such keys. */
function lookup(value: Value, key: Value): Value | undefined {
  if (value instanceof MapValue) return value.find(key);
  if (Array.isArray(value)) {
    const index = listIndex(key);
    return typeof index === "number" ? value[index] : index;
  }
  if (value instanceof Optional) return value.value === undefined ? undefined : lookup(value.value, key);
  return undefined;
}

function take(value: Value, key: Value): Value {
  if (value instanceof MapValue) return value.find(key) ?? new CelError(`no such key: ${keyName(key)}`);
  if (Array.isArray(value)) {
    const index = listIndex(key);
    if (typeof index !== "number") return index;
    return value[index] ?? new CelError(`index out of bounds: ${keyName(key)}`);
  }
  if (value instanceof Optional) return value.value === undefined ? value : take(value.value, key);
  return new CelError(`no such key: ${keyName(key)}`);
}

function listIndex(key: Value): number | CelError {
  if (typeof key === "bigint") return Number(key);
  if (key instanceof Uint) return Number(key.value);
  if (typeof key === "number") {
    return Number.isInteger(key) ? key : new CelError(`unsupported index value ${key} in list`);
  }
  return new CelError(`unsupported index type '${typeName(key)}' in list`);
}

export function keyName(key: Value): string {
  if (key instanceof Uint) return String(key.value);
  if (key instanceof TypeValue) return key.name;
  return String(key);
}

function presence(operand: Planned, field: string): Step {
  const chain = operand.access ?? { base: operand.run, qualifiers: [] };
  const qualifiers = chain.qualifiers;
  return (frame) => {
    const value = follow(frame, chain.base(frame), qualifiers);
    spend(frame, 1);
    if (value instanceof CelError) return value;
    const target = value instanceof Optional ? value.value : value;
    return target instanceof MapValue && target.has(field);
  };
}

function logical(left: Step, right: Step, stop: boolean): Step {
  return (frame) => {
    const a = left(frame);
    if (a === stop) return stop;
    const b = right(frame);
    if (b === stop) return stop;
    if (typeof a === "boolean" && typeof b === "boolean") return !stop;
    if (a instanceof CelError) return a;
    if (b instanceof CelError) return b;
    return noSuchOverload;
  };
}

function conditional(condition: Step, yes: Planned, no: Planned): Planned {
  const branch = (planned: Planned): Step => {
    const chain = planned.access;
    if (chain === undefined) return planned.run;
    return (frame) => follow(frame, chain.base(frame), chain.qualifiers);
  };
  const whenTrue = branch(yes);
  const whenFalse = branch(no);
  const base: Step = (frame) => {
    const value = condition(frame);
    if (value === true) return whenTrue(frame);
    if (value === false) return whenFalse(frame);
    return value instanceof CelError ? value : noSuchOverload;
  };
  return access({ base, qualifiers: [], free: true });
}

function notStrictlyFalse(operand: Step): Step {
  return (frame) => {
    const value = operand(frame);
    spend(frame, 1);
    return value instanceof CelError ? true : value;
  };
}

function fallback(target: Step, other: Step, name: "or" | "orValue"): Step {
  return (frame) => {
    const value = target(frame);
    if (value instanceof CelError) return value;
    if (!(value instanceof Optional)) return noSuchOverload;
    if (value.value === undefined) return other(frame);
    return name === "or" ? value : value.value;
  };
}

/** `x in [constants]`: a set, which costs nothing to ask. */
function memberOf(needle: Planned, container: Value | undefined): Planned | undefined {
  if (!Array.isArray(container)) return undefined;
  if (container.length === 0) return constant(false);
  const scalar = container.every((value) =>
    ["bool", "double", "int", "string", "uint"].includes(typeName(value)),
  );
  if (!scalar) return undefined;
  const texts = new Set(container.filter((value) => typeof value === "string"));
  const run: Step = (frame) => {
    const value = needle.run(frame);
    if (value instanceof CelError) return value;
    if (typeof value === "string") return texts.has(value);
    const name = typeName(value);
    if (name === "kubernetes.Semver") {
      return new CelError("internal error: runtime error: hash of unhashable type cel.Semver");
    }
    return container.some((element) =>
      typeof value === "boolean" ? element === value : compareNumbers(value, element) === 0,
    );
  };
  return { run };
}

function implementation(
  declaration: FunctionDeclaration,
  single: Overload | undefined,
  member: boolean,
): Implementation {
  if (declaration.whole !== undefined) return declaration.whole;
  const candidates =
    single === undefined ? declaration.overloads.filter((overload) => overload.member === member) : [single];
  return (a, b, c, d) => {
    const args = [a, b, c, d];
    for (const overload of candidates) {
      if (overload.args.every((type, i) => isOfType(args[i]!, type))) return overload.invoke!(a, b, c, d);
    }
    const count = candidates[0]?.args.length ?? 0;
    const names = args.slice(0, count).map(typeName);
    return new CelError(`no such overload: ${declaration.name}(${names.join(", ")})`);
  };
}

function strict(args: readonly Step[], invoke: Implementation, cost: CallCost | undefined): Step {
  const [first, second] = args;
  if (args.length === 1) {
    return (frame) => {
      const a = first!(frame);
      const result = a instanceof CelError ? a : invoke(a, null, null, null);
      spend(frame, cost === undefined ? 1 : cost([a], result));
      return result;
    };
  }
  if (args.length === 2) {
    return (frame) => {
      const a = first!(frame);
      const b = second!(frame);
      const result = a instanceof CelError ? a : b instanceof CelError ? b : invoke(a, b, null, null);
      spend(frame, cost === undefined ? 1 : cost([a, b], result));
      return result;
    };
  }
  return (frame) => {
    const values = args.map((arg) => arg(frame));
    const error = values.find((value) => value instanceof CelError);
    const [a = null, b = null, c = null, d = null] = values;
    const result = error ?? invoke(a, b, c, d);
    spend(frame, cost === undefined ? 1 : cost(values, result));
    return result;
  };
}

/** For functions whose work grows faster than their arguments: what cannot be paid for is not begun. */
function paidFirst(args: readonly Step[], invoke: Implementation, cost: CallCost): Step {
  return (frame) => {
    const values = args.map((arg) => arg(frame));
    const error = values.find((value) => value instanceof CelError);
    spend(frame, cost(values, null));
    const [a = null, b = null, c = null, d = null] = values;
    return error ?? invoke(a, b, c, d);
  };
}

function badOptional(key: string, value: Value): CelError {
  return new CelError(`cannot initialize optional entry '${key}' from non-optional value ${typeName(value)}`);
}

const goNames: Readonly<Record<string, string>> = {
  bool: "Bool", bytes: "Bytes", double: "Double", int: "Int", string: "String", uint: "Uint", null_type: "Null",
}; // biome-ignore format: a table reads better in lines

function notIterable(value: Value, two: boolean): CelError {
  const name = goNames[typeName(value)] ?? typeName(value);
  return new CelError(
    two
      ? `unsupported comprehension range type: types.${name}`
      : `got 'types.${name}', expected iterable type`,
  );
}

export { equal };
