import { callCost } from "../cost/tracker.ts";
import { quadratic } from "../cost/tracker-rules.ts";
import type { CallContext } from "../library/call-context.ts";
import type { FunctionDeclaration } from "../library/declarations.ts";
import { accumulatorName, type Call, type Comprehension, type Expr, type MapLiteral } from "../syntax/ast.ts";
import { isHashable, LiteralMap } from "../values/maps.ts";
import type { FindMessage } from "../values/message.ts";
import { type CelType, isOptional } from "../values/types.ts";
import { CelError, TypeValue, typeName, type Value } from "../values/value.ts";
import { ConstantSet } from "./constant-set.ts";
import { type Invocation, implementation } from "./invocation.ts";
import type { Chain, Lowered, Node, Qualifier } from "./ir.ts";
import { badKey, pushOptional, setOptional } from "./runtime.ts";

/** The expression cannot be made ready to run. */
export class PlanError extends Error {
  override readonly name = "PlanError";
}

/** What the names of a checked expression stand for at run time. */
export interface Names {
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  /** Names of types, which are values. */
  readonly types: ReadonlySet<string>;
  /** Places of the variables among the values handed to an evaluation. */
  readonly variables: ReadonlyMap<string, number>;
  /** Message types of the environment. */
  readonly messages?: FindMessage | undefined;
  /** For calls that are made when the expression is compiled. */
  readonly context: CallContext;
}

/** Conversions of constants are carried out once, when the expression is made ready; a failure is its failure. */
const converted = new Set(["bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"]);
/** Readers of texts: of constants they are carried out once here, and paid for each time. */
const reading = new Set("quantity isQuantity semver isSemver ip isIP cidr isCIDR url isURL".split(" "));
/** Of these, cel-go makes calls of any number of arguments where the pattern is a constant. */
const patterned = new Set(["matches", "find", "findAll"]);

/** Decides what can be decided without values. Throws PlanError. */
export function lower(expr: Expr, names: Names): Lowered {
  const lowering = new Lowering(names);
  return { root: lowering.lower(expr), slots: lowering.slots };
}

class Lowering {
  readonly #names: Names;
  readonly #scopes: { readonly name: string; readonly node: Node }[] = [];
  slots = 0;

  constructor(names: Names) {
    this.#names = names;
  }

  lower(expr: Expr): Node {
    switch (expr.kind) {
      case "literal":
        return constant(expr.value);
      case "identifier":
        return expr.global === undefined ? this.#local(expr.name, expr.type) : this.#global(expr.global);
      case "select":
        return expr.global === undefined ? this.#select(expr) : this.#global(expr.global);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "comprehension":
        return this.#comprehension(expr);
      case "struct":
        return this.#message(expr);
    }
  }

  #message(expr: Expr & { kind: "struct" }): Node {
    const type = this.#names.messages?.(expr.type?.name ?? "");
    if (type === undefined) throw new PlanError(`unknown type: ${expr.name}`);
    const fields = expr.fields.map(({ name, value, optional }) => ({
      name,
      value: this.lower(value),
      optional,
    }));
    return { kind: "message", type, fields };
  }

  /** As in cel-go, `x.f` and `has(x.f)` use the declaration of the type, `x.?f` does not. */
  #declared(type: CelType | undefined): { declared?: true } {
    const known = type?.kind === "struct" && this.#names.messages?.(type.name) !== undefined;
    return known ? { declared: true } : {};
  }

  #local(name: string, type: CelType | undefined): Node {
    for (let i = this.#scopes.length - 1; i >= 0; i--) {
      const scope = this.#scopes[i]!;
      if (scope.name === name) return chain(scope.node, type);
    }
    throw new PlanError(`no such attribute(s): ${name}`);
  }

  #global(name: string): Node {
    const index = this.#names.variables.get(name);
    if (index === undefined && this.#names.types.has(name)) return constant(new TypeValue(name));
    if (index === undefined) throw new PlanError(`no such attribute(s): ${name}`);
    return chain({ kind: "variable", name, index }, undefined);
  }

  #select(expr: Expr & { kind: "select" }): Node {
    const operand = chainOf(this.lower(expr.operand), expr.operand.type);
    const declared = this.#declared(expr.operand.type);
    if (!expr.testOnly)
      return qualified(operand, { key: constant(expr.field), optional: false, ...declared });
    const own = operand.base.kind === "conditional" ? -1 : 0;
    const optional = expr.operand.type !== undefined && isOptional(expr.operand.type);
    return { kind: "presence", chain: operand, field: expr.field, own, optional, ...declared };
  }

  #index(operand: Node, type: CelType | undefined, key: Node, optional: boolean): Node {
    const wrong = key.kind === "constant" ? badKey(key.value) : undefined;
    if (wrong !== undefined) throw new PlanError(wrong.message);
    return qualified(chainOf(operand, type), { key: raw(key), optional });
  }

  #call(expr: Call): Node {
    const operands = expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    const args = operands.map((arg) => this.lower(arg));
    const [first, second, third] = args as [Node, Node, Node];
    switch (expr.name) {
      case "_&&_":
      case "_||_":
        return { kind: "logical", stop: expr.name === "_||_", left: first, right: second };
      case "_?_:_": {
        const node: Node = { kind: "conditional", condition: first, yes: raw(second), no: raw(third) };
        return { ...chain(node, expr.type), own: 0 };
      }
      case "@not_strictly_false":
        return { kind: "guard", operand: first };
      case "_[_]":
      case "_[?_]":
      case "_?._":
        return this.#index(first, operands[0]!.type, second, expr.name !== "_[_]");
      case "or":
      case "orValue":
        if (expr.target === undefined) break;
        return { kind: "fallback", name: expr.name, target: first, other: second };
      case "dyn":
        if (first.kind === "constant") return first;
        break;
      case "type":
        if (first.kind === "constant") return constant(new TypeValue(typeName(first.value)));
        break;
      case "@in": {
        const set = memberOf(expr, first, second);
        if (set !== undefined) return set;
        break;
      }
      default:
    }
    return this.#invoke(expr, args);
  }

  #invoke(expr: Call, args: readonly Node[]): Node {
    const name = expr.name.replace(/^\./, "");
    const declaration = this.#names.functions.get(name);
    if (declaration === undefined) throw new PlanError(`unknown function: ${name}`);
    const call = invocation(expr, name, declaration, args, this.#names.context);
    const values = args.map((arg) => (arg.kind === "constant" ? arg.value : undefined));
    if (args.length === 0 || values.includes(undefined)) return { kind: "invoke", call, args };
    const [a = null, b = null, c = null, d = null] = values as Value[];
    if (converted.has(name) && args.length === 1) {
      const value = call.invoke(a, b, c, d, this.#names.context);
      if (value instanceof CelError) throw new PlanError(value.message);
      return constant(value);
    }
    if (!reading.has(name)) return { kind: "invoke", call, args };
    const value = call.invoke(a, b, c, d, this.#names.context);
    const cost =
      typeof call.cost === "number" ? call.cost : call.cost(a, b, c, d, value, this.#names.context);
    return { kind: "made", value, cost };
  }

  #list(expr: Expr & { kind: "list" }): Node {
    const elements = expr.elements.map((element) => this.lower(element));
    const list: Value[] = [];
    let fault: CelError | undefined;
    for (const [i, element] of elements.entries()) {
      if (element.kind !== "constant") return { kind: "list", elements, optional: expr.optional };
      if (element.value instanceof CelError) fault ??= element.value;
      else if (expr.optional.has(i)) fault ??= pushOptional(list, element.value);
      else list.push(element.value);
    }
    return constant(fault ?? list);
  }

  #map(expr: MapLiteral): Node {
    const map = new LiteralMap();
    let known = true;
    let fault: CelError | undefined;
    const entries = expr.entries.map((entry) => {
      const [key, value] = [this.lower(entry.key), this.lower(entry.value)];
      // A key that Go cannot hash ends the evaluation; upstream panics already here.
      if (key.kind !== "constant" || value.kind !== "constant" || !isHashable(key.value)) known = false;
      else if (value.value instanceof CelError) fault ??= value.value;
      else if (entry.optional) fault ??= setOptional(map, key.value, value.value);
      else map.set(key.value, value.value);
      return { key, value, optional: entry.optional };
    });
    return known ? constant(fault ?? map) : { kind: "map", entries };
  }

  #comprehension(expr: Comprehension): Node {
    const range = this.lower(expr.range);
    const init = this.lower(expr.init);
    const slot = this.slots++;
    if (expr.accumulator !== accumulatorName) {
      this.#scopes.push({ name: expr.accumulator, node: { kind: "lazy", slot, init } });
      const result = this.lower(expr.result);
      this.#scopes.pop();
      return { kind: "bind", slot, result };
    }
    if (init.kind !== "constant") throw new PlanError("a loop starts from a constant");
    const first = this.slots++;
    const second = expr.variable2 === undefined ? undefined : this.slots++;
    this.#scopes.push({ name: expr.accumulator, node: { kind: "local", slot } });
    const outer = this.#scopes.length;
    this.#scopes.push({ name: expr.variable, node: { kind: "local", slot: first } });
    if (second !== undefined) {
      this.#scopes.push({ name: expr.variable2!, node: { kind: "local", slot: second } });
    }
    const condition = this.lower(expr.condition);
    const step = collecting(this.lower(expr.step), slot);
    this.#scopes.length = outer;
    const result = this.lower(expr.result);
    this.#scopes.pop();
    return { kind: "loop", range, slot, init: init.value, first, second, condition, step, result };
  }
}

const constant = (value: Value): Node & { kind: "constant" } => ({ kind: "constant", value });

function chain(base: Node, type: CelType | undefined): Chain {
  return { kind: "chain", base, qualifiers: [], own: 1, maybeOptional: maybeOptional(type) };
}

/** A chain to which accesses can be added. */
function chainOf(node: Node, type: CelType | undefined): Chain {
  return node.kind === "chain" ? node : chain(node, type);
}

function qualified(operand: Chain, qualifier: Qualifier): Chain {
  return { ...operand, qualifiers: [...operand.qualifiers, qualifier] };
}

/**
 * As it is evaluated in a branch or as an index: cel-go then watches the accesses of a chain, not the chain. What
 * `has(a.?b.c)` finds stays an optional value there and never becomes a bool.
 */
function raw(node: Node): Node {
  if (node.kind === "chain") return { ...node, own: 0 };
  if (node.kind !== "presence") return node;
  if (!node.optional) return { ...node, own: 0 };
  return { ...qualified(node.chain, { key: constant(node.field), optional: false }), own: 0 };
}

function maybeOptional(type: CelType | undefined): boolean {
  switch (type?.kind) {
    case undefined:
    case "any":
    case "dyn":
    case "error":
    case "opaque":
    case "param":
      return true;
    default:
      return false;
  }
}

/** `x in [constants]`, where the checker knows it for a list: a set, which costs nothing to ask. */
function memberOf(expr: Call, needle: Node, container: Node): Node | undefined {
  if (container.kind !== "constant" || !Array.isArray(container.value)) return undefined;
  if (expr.overloads?.length !== 1 || expr.overloads[0]!.id !== "in_list") return undefined;
  const elements = container.value as readonly Value[];
  if (elements.length === 0) return constant(false);
  const set = ConstantSet.of(elements);
  return set === undefined ? undefined : { kind: "member", needle, set };
}

function invocation(
  expr: Call,
  name: string,
  declaration: FunctionDeclaration,
  args: readonly Node[],
  { patterns }: CallContext,
): Invocation {
  const overloads = expr.overloads ?? declaration.overloads;
  const single = overloads.length === 1 ? overloads[0] : undefined;
  const arity = args.length;
  // Where cel-go chooses among several forms at run time, it makes calls of any number of arguments of them.
  const dispatched = single === undefined && declaration.singleton === undefined;
  const pattern = patterned.has(name) ? constantText(args[1]) : undefined;
  // Upstream compiles such a pattern once, and then calls without a look at the types.
  const fixed = pattern === undefined ? undefined : single?.invoke;
  const compiled = pattern === undefined ? undefined : patterns.compile(pattern);
  if (typeof compiled === "string") throw new PlanError(compiled);
  return {
    name,
    invoke: fixed ?? implementation(declaration, single, arity),
    cost: callCost(name, single?.id ?? "", arity),
    stopsEarly: arity > 2 || name === "format" || pattern !== undefined || dispatched,
    prepaid: quadratic.has(name),
  };
}

function constantText(node: Node | undefined): string | undefined {
  return node?.kind === "constant" && typeof node.value === "string" ? node.value : undefined;
}

/** The step of a loop, where it builds a list or map from its accumulator: in place. */
function collecting(step: Node, slot: number): Node {
  if (step.kind === "chain" && step.qualifiers.length === 0 && step.base.kind === "conditional") {
    const { condition, yes, no } = step.base;
    return { ...step, base: { kind: "conditional", condition, yes: collecting(yes, slot), no } };
  }
  if (step.kind !== "invoke") return step;
  const [target, ...others] = step.args;
  if (target?.kind !== "chain" || target.base.kind !== "local" || target.base.slot !== slot) return step;
  if (target.qualifiers.length > 0) return step;
  if (step.call.name === "cel.@mapInsert") return { kind: "insert", slot, args: others };
  const added = others[0];
  if (step.call.name !== "_+_" || added === undefined) return step;
  if (added.kind === "list" && added.elements.length === 1 && added.optional.size === 0) {
    return { kind: "append", slot, element: added.elements[0]!, makes: 10 };
  }
  if (added.kind === "constant" && Array.isArray(added.value) && added.value.length === 1) {
    return { kind: "append", slot, element: constant((added.value as readonly Value[])[0]!), makes: 0 };
  }
  return step;
}
