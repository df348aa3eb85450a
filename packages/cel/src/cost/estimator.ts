import type { Call, Comprehension, Expr } from "../syntax/ast.ts";
import { textLength } from "../values/text.ts";
import { type CelType, errorType, isOptional } from "../values/types.ts";
import { estimateCall, type Operand } from "./estimator-rules.ts";
import {
  anySize,
  eitherSize,
  exactly,
  larger,
  noSize,
  plus,
  type Size,
  times,
  upTo,
} from "./size-estimate.ts";

/** How large what stands in a variable may be. */
export interface Shape {
  /** Most characters, elements or entries; undefined: not known. */
  readonly size?: number;
  readonly key?: Shape;
  /** What an index or an iteration leads to. */
  readonly element?: Shape;
  readonly fields?: Readonly<Record<string, Shape>>;
  /** What every other field leads to; undefined: not known. */
  readonly anyField?: Shape;
}

/** What is known of a value before anything runs. */
interface Known {
  readonly size: Size | undefined;
  /** Of something that a variable of the environment leads to. */
  readonly shape?: Shape | undefined;
  /** Of something that the expression makes itself. */
  readonly inside?: Inside | undefined;
}

/** What a list or map is made of. */
interface Inside {
  readonly list: boolean;
  readonly key: Size;
  readonly element: Size;
}

interface Estimate extends Known {
  /** The most that computing the value can cost. */
  readonly cost: bigint;
}

type Scope = ReadonlyMap<string, Known>;

/**
 * The most that an expression can cost, when it is run for variables no larger than their shapes say: cel-go's
 * estimate, to the unit, ends of integers included. The expression must have been checked.
 */
export function estimate(expr: Expr, shapes: Readonly<Record<string, Shape>>): bigint {
  return new Estimator(shapes).visit(expr, new Map()).cost;
}

const listCost = 10n;
const mapCost = 30n;
const structCost = 40n;

class Estimator {
  readonly #shapes: Readonly<Record<string, Shape>>;

  constructor(shapes: Readonly<Record<string, Shape>>) {
    this.#shapes = shapes;
  }

  visit(expr: Expr, scope: Scope): Estimate {
    switch (expr.kind) {
      case "literal":
        return { cost: 0n, size: exactly(literalSize(expr.value)) };
      case "identifier":
        return { cost: 1n, ...this.#named(expr, scope) };
      case "select":
        return this.#select(expr, scope);
      case "call":
        return this.#call(expr, scope);
      case "list":
        return this.#list(expr, scope);
      case "map":
        return this.#map(expr, scope);
      case "struct": {
        const costs = expr.fields.map((field) => this.visit(field.value, scope).cost);
        return { cost: plus(structCost, ...costs), size: sizeOfType(expr.type) };
      }
      case "comprehension":
        return isBinding(expr) ? this.#binding(expr, scope) : this.#loop(expr, scope);
    }
  }

  #named(expr: Expr & { kind: "identifier" }, scope: Scope): Known {
    const local = scope.get(expr.name);
    const shape = local === undefined ? this.#shapes[expr.global ?? expr.name] : local.shape;
    return {
      size: sizeOfShape(shape) ?? sizeOfType(expr.type) ?? local?.size,
      shape,
      inside: local?.inside,
    };
  }

  #select(expr: Expr & { kind: "select" }, scope: Scope): Estimate {
    if (expr.global !== undefined) return { cost: 1n, size: sizeOfType(expr.type) };
    const operand = this.visit(expr.operand, scope);
    if (expr.testOnly) return { cost: operand.cost, size: sizeOfType(expr.type) };
    const kind = expr.operand.type?.kind;
    const cost = plus(operand.cost, kind === "map" || kind === "struct" ? 1n : 0n);
    const shape = operand.shape?.fields?.[expr.field] ?? operand.shape?.anyField;
    return { cost, ...ofShape(shape, expr.type) };
  }

  #list(expr: Expr & { kind: "list" }, scope: Scope): Estimate {
    const elements = expr.elements.map((element) => this.visit(element, scope));
    return {
      cost: plus(listCost, ...elements.map(({ cost }) => cost)),
      size: exactly(BigInt(elements.length)),
      inside: { list: true, key: exactly(1n), element: ofAll(elements) },
    };
  }

  #map(expr: Expr & { kind: "map" }, scope: Scope): Estimate {
    const keys = expr.entries.map((entry) => this.visit(entry.key, scope));
    const values = expr.entries.map((entry) => this.visit(entry.value, scope));
    return {
      cost: plus(mapCost, ...[...keys, ...values].map(({ cost }) => cost)),
      size: exactly(BigInt(keys.length)),
      inside: { list: false, key: ofAll(keys), element: ofAll(values) },
    };
  }

  #loop(expr: Comprehension, scope: Scope): Estimate {
    const range = this.visit(expr.range, scope);
    const init = this.visit(expr.init, scope);
    const outer = new Map(scope).set(expr.accumulator, init);
    const inner = new Map(outer);
    const overList = range.inside?.list ?? expr.range.type?.kind === "list";
    if (expr.variable2 !== undefined) {
      inner.set(expr.variable, { size: range.inside?.key, shape: overList ? undefined : range.shape?.key });
      inner.set(expr.variable2, { size: range.inside?.element, shape: range.shape?.element });
    } else if (overList) {
      inner.set(expr.variable, { size: range.inside?.element, shape: range.shape?.element });
    } else inner.set(expr.variable, { size: range.inside?.key, shape: range.shape?.key });
    const condition = this.visit(expr.condition, inner);
    const step = this.visit(expr.step, inner);
    const result = this.visit(expr.result, outer);
    const rounds = range.size ?? anySize;
    const loops = times(rounds.most, plus(condition.cost, step.cost));
    const cost = plus(range.cost, init.cost, result.cost, loops);
    if (expr.init.kind === "literal") return { cost, size: init.size };
    if (expr.init.kind !== "list" && expr.init.kind !== "map") return { cost, size: sizeOfType(expr.type) };
    return { cost, size: rounds, inside: step.inside };
  }

  /** `cel.bind` and what is made of it: the name is gone when the size of the whole is looked at. */
  #binding(expr: Comprehension, scope: Scope): Estimate {
    const init = this.visit(expr.init, scope);
    const result = this.visit(expr.result, new Map(scope).set(expr.accumulator, init));
    const cost = plus(listCost, init.cost, result.cost);
    if (expr.result.kind !== "identifier" || expr.result.name !== expr.accumulator)
      return { ...result, cost };
    const hidden = scope.get(expr.accumulator);
    const size = sizeOfShape(result.shape) ?? sizeOfType(expr.type) ?? hidden?.size;
    return { cost, size, inside: hidden?.inside };
  }

  #call(expr: Call, scope: Scope): Estimate {
    const operands = expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    const args = operands.map((operand) => this.visit(operand, scope));
    const costs = args.map(({ cost }) => cost);
    const [first, second, third] = args;
    if (expr.name === "dyn" && first !== undefined) {
      return { cost: plus(1n, first.cost), size: first.size, inside: first.inside };
    }
    if (expr.name === "_?_:_") {
      const [condition, yes, no] = [first!, second!, third!];
      return {
        cost: plus(condition.cost, larger(yes.cost, no.cost)),
        size: eitherSize(yes.size ?? anySize, no.size ?? anySize),
        inside: eitherInside(yes.inside, no.inside),
      };
    }
    const known = args.map((arg, i): Operand => operandOf(operands[i]!, arg));
    const indexes = (expr.overloads ?? []).some(({ id }) => id === "index_list" || id === "index_map");
    const shape = indexes ? first?.shape?.element : undefined;
    let most = 0n;
    let size: Size | undefined;
    for (const { id } of expr.overloads ?? []) {
      const call = estimateCall(expr.name, id, known);
      most = larger(most, call.cost);
      if (call.size !== undefined) size = size === undefined ? call.size : eitherSize(size, call.size);
      if (id === "index_list" || id === "index_map") size = first?.inside?.element;
      size ??= sizeOfShape(shape) ?? sizeOfType(expr.type);
    }
    const inside = expr.name === "_+_" ? eitherInside(first?.inside, second?.inside) : undefined;
    return { cost: plus(most, ...costs), size, shape, inside: joins(expr) ? inside : undefined };
  }
}

function literalSize(value: unknown): bigint {
  if (typeof value === "string") return BigInt(textLength(value));
  return value instanceof Uint8Array ? BigInt(value.length) : 1n;
}

const sizeOfShape = (shape: Shape | undefined): Size | undefined =>
  shape?.size === undefined ? undefined : upTo(BigInt(shape.size));

/** What a type alone says: scalars are of size 1. */
function sizeOfType(type: CelType | undefined): Size | undefined {
  if (type === undefined) return undefined;
  if (isOptional(type)) return sizeOfType(type.params[0]);
  return scalars.has(type.kind) ? exactly(1n) : undefined;
}

const scalars: ReadonlySet<CelType["kind"]> = new Set([
  "bool",
  "double",
  "duration",
  "int",
  "timestamp",
  "uint",
]);

const ofShape = (shape: Shape | undefined, type: CelType | undefined): Known => ({
  size: sizeOfShape(shape) ?? sizeOfType(type),
  shape,
});

/** Of no elements at all: nothing. */
function ofAll(elements: readonly Known[]): Size {
  if (elements.length === 0) return exactly(0n);
  return elements.map(({ size }) => size ?? anySize).reduce(eitherSize, noSize);
}

function eitherInside(a: Inside | undefined, b: Inside | undefined): Inside | undefined {
  if (a === undefined || b === undefined) return undefined;
  return { list: a.list, key: eitherSize(a.key, b.key), element: eitherSize(a.element, b.element) };
}

/** Calls by which texts and lists become one. */
const joins = (call: Call): boolean =>
  (call.overloads ?? []).some(({ id }) => id === "add_list" || id === "add_string" || id === "add_bytes");

function operandOf(expr: Expr, { size, shape }: Known): Operand {
  return { expr, type: expr.type ?? errorType, size, elementSize: sizeOfShape(shape?.element) };
}

/** Loops over nothing, which stand for a name. */
function isBinding({ range, condition }: Comprehension): boolean {
  if (range.kind !== "list" || range.elements.length > 0) return false;
  return condition.kind === "literal" && condition.value === false;
}
