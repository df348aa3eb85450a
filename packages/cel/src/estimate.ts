import { accumulatorName, type Call, type Comprehension, type Expr } from "./ast.ts";
import { characters, constantTime, costRule, elementwise } from "./cost-rules.ts";
import { anySize, eitherSize, exactly, noSize, type Size, sizeRule, unboundedSize } from "./sizes.ts";
import { type CelType, isOptional } from "./types.ts";
import { textLength } from "./values.ts";

/** The largest cost, the end of unsigned 64-bit integers: nothing bounds it. */
export const unlimited = 2n ** 64n - 1n;

/** How large what stands in a variable may be. */
export interface Shape {
  /** Most characters, elements or entries; undefined: not known. */
  readonly size?: number;
  readonly key?: Shape;
  readonly element?: Shape;
  readonly fields?: Readonly<Record<string, Shape>>;
  /** What every other field leads to; an index leads to `element`. */
  readonly anyField?: Shape;
}

/** What is known of a value before anything runs. */
interface Known {
  readonly size: Size;
  /** Of something that a variable leads to. */
  readonly shape?: Shape | undefined;
  /** Sizes of the keys and elements of something that the expression makes itself. */
  readonly inside?: Inside | undefined;
}

interface Inside {
  readonly key: Size;
  readonly element: Size;
}

interface Estimate extends Known {
  /** The most that computing the value can cost. */
  readonly cost: bigint;
}

type Scope = ReadonlyMap<string, Known>;

/**
 * The most that an expression can cost, when it is run for variables no larger than their shapes say. It must have
 * been checked. It follows the expression once, from the inside out, with what is known of every value in place of it.
 */
export function estimate(expr: Expr, shapes: Readonly<Record<string, Shape>>): bigint {
  const scope = new Map(Object.entries(shapes).map(([name, shape]) => [name, ofShape(shape)] as const));
  return visit(expr, scope).cost;
}

const total = (...costs: readonly bigint[]): bigint => atMost(costs.reduce((sum, cost) => sum + cost, 0n));
const atMost = (cost: bigint): bigint => (cost > unlimited ? unlimited : cost);
const whole = (cost: number): bigint => (cost >= unboundedSize ? unlimited : BigInt(Math.ceil(cost)));
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

const listCost = 10n;
const mapCost = 30n;
const structCost = 40n;

function ofShape(shape: Shape | undefined): Known {
  const size = shape?.size === undefined ? anySize : { least: 0, most: shape.size };
  return { size, shape };
}

/** What a type alone says: scalars are of size 1. */
function sizeOfType(type: CelType | undefined): Size {
  if (type === undefined) return anySize;
  if (isOptional(type)) return sizeOfType(type.params[0]);
  return scalars.has(type.kind) ? exactly(1) : anySize;
}

const scalars: ReadonlySet<CelType["kind"]> = new Set([
  "bool",
  "double",
  "duration",
  "int",
  "timestamp",
  "uint",
]);

function visit(expr: Expr, scope: Scope): Estimate {
  const known = visitAny(expr, scope);
  if (known.size !== anySize) return known;
  return { ...known, size: sizeOfType(expr.type) };
}

function visitAny(expr: Expr, scope: Scope): Estimate {
  switch (expr.kind) {
    case "literal": {
      const value = expr.value;
      const sized =
        typeof value === "string" ? textLength(value) : value instanceof Uint8Array ? value.length : 1;
      return { cost: 0n, size: exactly(sized) };
    }
    case "identifier":
      return { ...(scope.get(expr.name) ?? { size: anySize }), cost: 1n };
    case "select": {
      const operand = visit(expr.operand, scope);
      if (expr.testOnly) return { cost: operand.cost, size: exactly(1) };
      const shape = operand.shape?.fields?.[expr.field] ?? operand.shape?.anyField;
      const step = ["map", "struct"].includes(expr.operand.type?.kind ?? "") ? 1n : 0n;
      return { ...ofShape(shape), cost: total(operand.cost, step) };
    }
    case "list": {
      const elements = expr.elements.map((element) => visit(element, scope));
      return {
        cost: total(listCost, ...elements.map(({ cost }) => cost)),
        size: exactly(elements.length),
        inside: { key: exactly(1), element: elements.map(({ size }) => size).reduce(eitherSize, noSize) },
      };
    }
    case "map": {
      const keys = expr.entries.map((entry) => visit(entry.key, scope));
      const values = expr.entries.map((entry) => visit(entry.value, scope));
      return {
        cost: total(mapCost, ...[...keys, ...values].map(({ cost }) => cost)),
        size: exactly(keys.length),
        inside: {
          key: keys.map(({ size }) => size).reduce(eitherSize, noSize),
          element: values.map(({ size }) => size).reduce(eitherSize, noSize),
        },
      };
    }
    case "struct":
      return {
        cost: total(structCost, ...expr.fields.map((f) => visit(f.value, scope).cost)),
        size: anySize,
      };
    case "comprehension":
      return visitLoop(expr, scope);
    case "call":
      return visitCall(expr, scope);
  }
}

/** What an index or a field leads to. */
function member(container: Known): Known {
  if (container.shape?.element !== undefined) return ofShape(container.shape.element);
  return { size: container.inside?.element ?? anySize };
}

function keyOf(container: Known): Known {
  if (container.shape?.key !== undefined) return ofShape(container.shape.key);
  return { size: container.inside?.key ?? anySize };
}

function visitLoop(expr: Comprehension, scope: Scope): Estimate {
  const range = visit(expr.range, scope);
  const init = visit(expr.init, scope);
  const overMap = expr.range.type?.kind === "map";
  const inner = new Map(scope).set(expr.accumulator, init);
  if (expr.variable2 === undefined) inner.set(expr.variable, overMap ? keyOf(range) : member(range));
  else {
    inner.set(expr.variable, overMap ? keyOf(range) : { size: exactly(1) });
    inner.set(expr.variable2, member(range));
  }
  const condition = visit(expr.condition, inner);
  const step = visit(expr.step, inner);
  const loops = atMost(whole(range.size.most) * total(condition.cost, step.cost));
  const collects =
    expr.accumulator === accumulatorName && (expr.init.kind === "list" || expr.init.kind === "map");
  const made: Known = collects ? { size: { least: 0, most: range.size.most }, inside: step.inside } : init;
  const result = visit(expr.result, new Map(scope).set(expr.accumulator, made));
  return { ...result, cost: total(range.cost, init.cost, loops, result.cost) };
}

function visitCall(expr: Call, scope: Scope): Estimate {
  const operands = expr.target === undefined ? expr.args : [expr.target, ...expr.args];
  const args = operands.map((operand) => visit(operand, scope));
  if (expr.name === "_?_:_") {
    const [condition, yes, no] = args as [Estimate, Estimate, Estimate];
    return { ...eitherKnown(yes, no), cost: total(condition.cost, larger(yes.cost, no.cost)) };
  }
  const result = resultOf(expr, operands, args);
  const forms = expr.overloads ?? [];
  const costs = forms.map(({ id }) => costOf(expr, id, operands, args, result.size));
  return { ...result, cost: total(...args.map(({ cost }) => cost), costs.reduce(larger, 0n)) };
}

function eitherKnown(a: Known, b: Known): Known {
  const both = a.inside !== undefined && b.inside !== undefined;
  return { size: eitherSize(a.size, b.size), inside: both ? eitherInside(a.inside, b.inside) : undefined };
}

const eitherInside = (a: Inside, b: Inside): Inside => ({
  key: eitherSize(a.key, b.key),
  element: eitherSize(a.element, b.element),
});

/** Calls that lead into their first argument. */
const indexing: ReadonlySet<string> = new Set(["_[_]"]);
/** Calls that cost what their arguments do. */
const free: ReadonlySet<string> = new Set(["logical_and", "logical_or"]);

function costOf(
  expr: Call,
  form: string,
  operands: readonly Expr[],
  args: readonly Known[],
  result: Size,
): bigint {
  if (free.has(form)) return 0n;
  if (expr.name === "_==_" && operands.every(({ type }) => constantTime.has(type?.name ?? ""))) return 1n;
  if (elementwise.has(expr.name)) return elementsCost(expr.name, operands[0]!.type, args[0]!);
  const rule = costRule(expr.name, form);
  if (rule === undefined)
    return expr.name === "join" ? whole(characters(joinedSize(operands[0]!, args))) : 1n;
  return whole(
    rule(
      args.map(({ size }) => size.most),
      result.most,
    ),
  );
}

/** A list of unknown elements is taken for a text, as far as functions of texts have the name, too. */
function elementsCost(name: string, type: CelType | undefined, list: Known): bigint {
  const element = type?.params[0];
  if (element === undefined) return whole(name === "includes" ? list.size.most : characters(list.size.most));
  const text = element.kind === "string" || element.kind === "bytes";
  const each = text ? total(1n, whole(characters(declaredElement(list)))) : 1n;
  return atMost(whole(list.size.most) * each);
}

/** Only shapes are asked for the size of elements here, not what the expression makes itself. */
const declaredElement = (list: Known): number => list.shape?.element?.size ?? unboundedSize;

function joinedSize(list: Expr, [target, separator]: readonly Known[]): number {
  const texts = list.type?.params[0] === undefined ? 0 : target!.size.most * declaredElement(target!);
  const gaps = separator === undefined ? 0 : separator.size.most * Math.max(0, target!.size.most - 1);
  return Math.min(unboundedSize, texts + gaps);
}

function resultOf(expr: Call, operands: readonly Expr[], args: readonly Known[]): Known {
  if (indexing.has(expr.name)) return member(args[0]!);
  const limit = operands.at(-1);
  const written = limit?.kind === "literal" && typeof limit.value === "bigint" ? limit.value : undefined;
  const sizes = args.map(({ size }) => size);
  let size: Size | undefined;
  let inside: Inside | undefined;
  for (const { id } of expr.overloads ?? []) {
    const rule = sizeRule(id);
    if (rule === undefined) continue;
    const ruled = rule(sizes, written === undefined ? undefined : Number(BigInt.asUintN(64, written)));
    size = size === undefined ? ruled : eitherSize(size, ruled);
    const [a, b] = args;
    if (id === "to_dyn") inside = a?.inside;
    else if (id === "add_list" && a?.inside !== undefined && b?.inside !== undefined) {
      inside = eitherInside(a.inside, b.inside);
    }
  }
  if (expr.name === "join") size = { least: 0, most: joinedSize(operands[0]!, args) };
  return { size: size ?? anySize, inside };
}
