import type { CheckedExpression } from "../check/checked-expression.ts";
import type { Operand } from "../library/costs/estimates.ts";
import {
  anySize,
  exactly,
  larger,
  noSize,
  plus,
  type SizeEstimate,
  times,
  unionSize,
  upTo,
} from "../library/costs/size-estimate.ts";
import type {
  Call,
  Comprehension,
  Expr,
  Identifier,
  ListLiteral,
  MapLiteral,
  Select,
} from "../syntax/ast.ts";
import { textLength } from "../values/text.ts";
import { type CelType, errorType, isOptional } from "../values/types.ts";

/** The maximum size of a variable and of its parts, as the environment declares it. */
export interface DeclaredSize {
  /** Maximum number of code points, elements or entries; undefined: unknown. */
  readonly maxSize?: number;
  readonly key?: DeclaredSize;
  /** Size of the elements of a list, or the values of a map. */
  readonly element?: DeclaredSize;
  readonly fields?: Readonly<Record<string, DeclaredSize>>;
  /** Size of every other field; undefined: unknown. */
  readonly anyField?: DeclaredSize;
}

/** The estimate of a value, without the cost of computing it. */
interface ValueEstimate {
  readonly size: SizeEstimate | undefined;
  /** Size of a variable of the environment or a part of it. */
  readonly declared?: DeclaredSize | undefined;
  /** Sizes of the entries of a list or map that the expression makes. */
  readonly entries?: EntrySizes | undefined;
}

/** The sizes of the entries of a list or map. */
interface EntrySizes {
  readonly isList: boolean;
  readonly key: SizeEstimate;
  readonly element: SizeEstimate;
}

interface Estimate extends ValueEstimate {
  /** The maximum cost of computing the value. */
  readonly cost: bigint;
}

/** The variables of macros. */
type Scope = ReadonlyMap<string, ValueEstimate>;

/**
 * The maximum cost of an expression for variables within their declared sizes. It equals cel-go's estimate,
 * overflows included. Upstream: cel-go checker/cost.go
 */
export function estimateCost(
  checked: CheckedExpression,
  declared: Readonly<Record<string, DeclaredSize>>,
): bigint {
  return new CostEstimator(checked, declared).visit(checked.root, new Map()).cost;
}

const listCost = 10n;
const mapCost = 30n;
const structCost = 40n;

class CostEstimator {
  readonly #checked: CheckedExpression;
  readonly #declared: Readonly<Record<string, DeclaredSize>>;

  constructor(checked: CheckedExpression, declared: Readonly<Record<string, DeclaredSize>>) {
    this.#checked = checked;
    this.#declared = declared;
  }

  visit(expr: Expr, scope: Scope): Estimate {
    switch (expr.kind) {
      case "literal":
        return { cost: 0n, size: exactly(literalSize(expr.value)) };
      case "identifier":
        return { cost: 1n, ...this.#identifier(expr, scope) };
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
        return { cost: plus(structCost, ...costs), size: this.#sizeOfType(expr) };
      }
      case "comprehension":
        return isBinding(expr) ? this.#binding(expr, scope) : this.#loop(expr, scope);
    }
  }

  #sizeOfType(expr: Expr): SizeEstimate | undefined {
    return sizeOfType(this.#checked.typeOf(expr));
  }

  #identifier(expr: Identifier, scope: Scope): ValueEstimate {
    const local = scope.get(expr.name);
    const name = this.#checked.globalOf(expr) ?? expr.name;
    const declared = local === undefined ? this.#declared[name] : local.declared;
    return {
      size: maxSizeOf(declared) ?? this.#sizeOfType(expr) ?? local?.size,
      declared,
      entries: local?.entries,
    };
  }

  #select(expr: Select, scope: Scope): Estimate {
    if (this.#checked.globalOf(expr) !== undefined) return { cost: 1n, size: this.#sizeOfType(expr) };
    const operand = this.visit(expr.operand, scope);
    if (expr.testOnly) return { cost: operand.cost, size: this.#sizeOfType(expr) };
    const kind = this.#checked.typeOf(expr.operand)?.kind;
    const cost = plus(operand.cost, kind === "map" || kind === "struct" ? 1n : 0n);
    const declared = operand.declared?.fields?.[expr.field] ?? operand.declared?.anyField;
    return { cost, size: maxSizeOf(declared) ?? this.#sizeOfType(expr), declared };
  }

  #list(expr: ListLiteral, scope: Scope): Estimate {
    const elements = expr.elements.map((element) => this.visit(element, scope));
    return {
      cost: plus(listCost, ...elements.map(({ cost }) => cost)),
      size: exactly(BigInt(elements.length)),
      entries: { isList: true, key: exactly(1n), element: unionOf(elements) },
    };
  }

  #map(expr: MapLiteral, scope: Scope): Estimate {
    const keys = expr.entries.map((entry) => this.visit(entry.key, scope));
    const values = expr.entries.map((entry) => this.visit(entry.value, scope));
    return {
      cost: plus(mapCost, ...[...keys, ...values].map(({ cost }) => cost)),
      size: exactly(BigInt(keys.length)),
      entries: { isList: false, key: unionOf(keys), element: unionOf(values) },
    };
  }

  #loop(expr: Comprehension, scope: Scope): Estimate {
    const range = this.visit(expr.range, scope);
    const init = this.visit(expr.init, scope);
    const outer = new Map(scope).set(expr.accumulator, init);
    const inner = this.#iterationScope(expr, range, outer);
    const condition = this.visit(expr.condition, inner);
    const step = this.visit(expr.step, inner);
    const result = this.visit(expr.result, outer);
    const iterations = range.size ?? anySize;
    const loops = times(iterations.max, plus(condition.cost, step.cost));
    const cost = plus(range.cost, init.cost, result.cost, loops);
    if (expr.init.kind === "literal") return { cost, size: init.size };
    if (expr.init.kind !== "list" && expr.init.kind !== "map") return { cost, size: this.#sizeOfType(expr) };
    return { cost, size: iterations, entries: step.entries };
  }

  #iterationScope(expr: Comprehension, range: Estimate, outer: Scope): Scope {
    const isList = range.entries?.isList ?? this.#checked.typeOf(expr.range)?.kind === "list";
    const key = { size: range.entries?.key, declared: range.declared?.key };
    const element = { size: range.entries?.element, declared: range.declared?.element };
    const inner = new Map(outer);
    if (expr.variable2 === undefined) return inner.set(expr.variable, isList ? element : key);
    // The index of a list has no declared size.
    inner.set(expr.variable, isList ? { size: key.size, declared: undefined } : key);
    return inner.set(expr.variable2, element);
  }

  /**
   * `cel.bind` and macros that expand to it. cel-go looks up the size of the whole without the bound name.
   */
  #binding(expr: Comprehension, scope: Scope): Estimate {
    const init = this.visit(expr.init, scope);
    const result = this.visit(expr.result, new Map(scope).set(expr.accumulator, init));
    const cost = plus(listCost, init.cost, result.cost);
    if (expr.result.kind !== "identifier" || expr.result.name !== expr.accumulator)
      return { ...result, cost };
    const hidden = scope.get(expr.accumulator);
    const size = maxSizeOf(result.declared) ?? this.#sizeOfType(expr) ?? hidden?.size;
    return { cost, size, entries: hidden?.entries };
  }

  #call(expr: Call, scope: Scope): Estimate {
    const { name, overloads } = this.#checked.referenceOf(expr);
    const operands = this.#checked.operandsOf(expr);
    const args = operands.map((operand) => this.visit(operand, scope));
    const costs = args.map(({ cost }) => cost);
    const [first, second, third] = args;
    if (name === "dyn" && first !== undefined) {
      return { cost: plus(1n, first.cost), size: first.size, entries: first.entries };
    }
    if (name === "_?_:_" && first !== undefined && second !== undefined && third !== undefined) {
      return {
        cost: plus(first.cost, larger(second.cost, third.cost)),
        size: unionSize(second.size ?? anySize, third.size ?? anySize),
        entries: unionEntries(second.entries, third.entries),
      };
    }
    const known = args.map((arg, i) => this.#operand(operands[i]!, arg));
    const declared = overloads.some(({ id }) => isIndex(id)) ? first?.declared?.element : undefined;
    let max = 0n;
    let size: SizeEstimate | undefined;
    for (const { id, cost } of overloads) {
      const call = cost?.estimate?.(known) ?? { cost: 1n, size: undefined };
      max = larger(max, call.cost);
      if (call.size !== undefined) size = size === undefined ? call.size : unionSize(size, call.size);
      if (isIndex(id)) size = first?.entries?.element;
      size ??= maxSizeOf(declared) ?? this.#sizeOfType(expr);
    }
    const concatenates = overloads.some(({ id }) => concatenations.has(id));
    const entries = name === "_+_" ? unionEntries(first?.entries, second?.entries) : undefined;
    return { cost: plus(max, ...costs), size, declared, entries: concatenates ? entries : undefined };
  }

  #operand(expr: Expr, { size, declared }: ValueEstimate): Operand {
    const type = this.#checked.typeOf(expr) ?? errorType;
    return { expr, type, size, elementSize: maxSizeOf(declared?.element) };
  }
}

function literalSize(value: unknown): bigint {
  if (typeof value === "string") return BigInt(textLength(value));
  return value instanceof Uint8Array ? BigInt(value.length) : 1n;
}

const maxSizeOf = (declared: DeclaredSize | undefined): SizeEstimate | undefined =>
  declared?.maxSize === undefined ? undefined : upTo(BigInt(declared.maxSize));

/** Scalars have the size 1. */
function sizeOfType(type: CelType | undefined): SizeEstimate | undefined {
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

const isIndex = (overloadId: string): boolean => overloadId === "index_list" || overloadId === "index_map";
const concatenations: ReadonlySet<string> = new Set(["add_list", "add_string", "add_bytes"]);

function unionOf(elements: readonly ValueEstimate[]): SizeEstimate {
  if (elements.length === 0) return exactly(0n);
  return elements.map(({ size }) => size ?? anySize).reduce(unionSize, noSize);
}

function unionEntries(a: EntrySizes | undefined, b: EntrySizes | undefined): EntrySizes | undefined {
  if (a === undefined || b === undefined) return undefined;
  return { isList: a.isList, key: unionSize(a.key, b.key), element: unionSize(a.element, b.element) };
}

/** `cel.bind` expands to a loop over an empty list. */
function isBinding({ range, condition }: Comprehension): boolean {
  if (range.kind !== "list" || range.elements.length > 0) return false;
  return condition.kind === "literal" && condition.value === false;
}
