import type { CheckedExpression } from "../check/checked-expression.ts";
import type { CallContext } from "../library/call-context.ts";
import type { FunctionDeclaration } from "../library/declarations.ts";
import {
  accumulatorName,
  type Call,
  type Comprehension,
  type Expr,
  type ListLiteral,
  type MapLiteral,
  type Select,
  type StructLiteral,
} from "../syntax/ast.ts";
import { isHashable, LiteralMap } from "../values/maps.ts";
import type { FindMessage } from "../values/message.ts";
import { type CelType, isOptional } from "../values/types.ts";
import { CelError, TypeValue, typeName, type Value } from "../values/value.ts";
import { constantSet, invocation, ProgramError } from "./call-lowering.ts";
import { chain, chainOf, collecting, constant, qualified, raw } from "./chains.ts";
import type { Lowered, Node } from "./ir.ts";
import { keyError, pushOptional, setOptional } from "./runtime.ts";

/** Run-time targets of the names in a checked expression. */
export interface Names {
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  /** Names of types, which are values. */
  readonly types: ReadonlySet<string>;
  /** Indexes of the variables among the values of an evaluation. */
  readonly variables: ReadonlyMap<string, number>;
  readonly messages?: FindMessage | undefined;
  /** The context of the functions in the program. */
  readonly context: CallContext;
}

/** Resolves everything that does not depend on run-time values. Throws ProgramError. */
export function lower(checked: CheckedExpression, names: Names): Lowered {
  const lowering = new Lowering(checked, names);
  return { root: lowering.lower(checked.root), slots: lowering.slots };
}

class Lowering {
  readonly #checked: CheckedExpression;
  readonly #names: Names;
  /** Variables of macros, the innermost last. */
  readonly #scopes: { readonly name: string; readonly node: Node }[] = [];
  slots = 0;

  constructor(checked: CheckedExpression, names: Names) {
    this.#checked = checked;
    this.#names = names;
  }

  lower(expr: Expr): Node {
    const global = this.#checked.globalOf(expr);
    if (global !== undefined) return this.#global(global);
    switch (expr.kind) {
      case "literal":
        return constant(expr.value);
      case "identifier":
        return this.#local(expr.name, this.#checked.typeOf(expr));
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
        return this.#message(expr);
    }
  }

  #message(expr: StructLiteral): Node {
    const type = this.#names.messages?.(this.#checked.typeOf(expr)?.name ?? "");
    if (type === undefined) throw new ProgramError(`unknown type: ${expr.name}`);
    const fields = expr.fields.map(({ name, value, optional }) => ({
      name,
      value: this.lower(value),
      optional,
    }));
    return { kind: "message", type, fields };
  }

  /** In cel-go `x.f` and `has(x.f)` use the declaration of the type, `x.?f` does not. */
  #declared(type: CelType | undefined): { declared?: true } {
    const known = type?.kind === "struct" && this.#names.messages?.(type.name) !== undefined;
    return known ? { declared: true } : {};
  }

  #local(name: string, type: CelType | undefined): Node {
    for (let i = this.#scopes.length - 1; i >= 0; i--) {
      const scope = this.#scopes[i]!;
      if (scope.name === name) return chain(scope.node, type);
    }
    throw new ProgramError(`no such attribute(s): ${name}`);
  }

  #global(name: string): Node {
    const index = this.#names.variables.get(name);
    if (index === undefined && this.#names.types.has(name)) return constant(new TypeValue(name));
    if (index === undefined) throw new ProgramError(`no such attribute(s): ${name}`);
    return chain({ kind: "variable", name, index }, undefined);
  }

  #select(expr: Select): Node {
    const type = this.#checked.typeOf(expr.operand);
    const operand = chainOf(this.lower(expr.operand), type);
    const declared = this.#declared(type);
    if (!expr.testOnly)
      return qualified(operand, { key: constant(expr.field), optional: false, ...declared });
    const own = operand.base.kind === "conditional" ? -1 : 0;
    const optional = type !== undefined && isOptional(type);
    return { kind: "presence", chain: operand, field: expr.field, own, optional, ...declared };
  }

  #index(operand: Node, type: CelType | undefined, key: Node, optional: boolean): Node {
    const problem = key.kind === "constant" ? keyError(key.value) : undefined;
    if (problem !== undefined) throw new ProgramError(problem.message);
    return qualified(chainOf(operand, type), { key: raw(key), optional });
  }

  #call(expr: Call): Node {
    const { name, target, overloads } = this.#checked.referenceOf(expr);
    const operands = this.#checked.operandsOf(expr);
    const args = operands.map((arg) => this.lower(arg));
    const [first, second, third] = args as [Node, Node, Node];
    switch (name) {
      case "_&&_":
      case "_||_":
        return { kind: "logical", stop: name === "_||_", left: first, right: second };
      case "_?_:_": {
        const node: Node = { kind: "conditional", condition: first, yes: raw(second), no: raw(third) };
        return { ...chain(node, this.#checked.typeOf(expr)), own: 0 };
      }
      case "@not_strictly_false":
        return { kind: "notStrictlyFalse", operand: first };
      case "_[_]":
      case "_[?_]":
      case "_?._":
        return this.#index(first, this.#checked.typeOf(operands[0]!), second, name !== "_[_]");
      case "or":
      case "orValue":
        if (target === undefined) break;
        return { kind: "fallback", name, target: first, other: second };
      case "dyn":
        if (first.kind === "constant") return first;
        break;
      case "type":
        if (first.kind === "constant") return constant(new TypeValue(typeName(first.value)));
        break;
      case "@in": {
        const node = constantSet(overloads, first, second);
        if (node !== undefined) return node;
        break;
      }
      default:
    }
    return this.#invoke(expr, args);
  }

  #invoke(expr: Call, args: readonly Node[]): Node {
    const { name, overloads } = this.#checked.referenceOf(expr);
    const declaration = this.#names.functions.get(name);
    if (declaration === undefined) throw new ProgramError(`unknown function: ${name}`);
    const { context } = this.#names;
    const call = invocation(declaration, overloads, args, context);
    const values = args.map((arg) => (arg.kind === "constant" ? arg.value : undefined));
    if (args.length === 0 || values.includes(undefined)) return { kind: "invoke", call, args };
    const [a = null, b = null, c = null, d = null] = values as Value[];
    if (declaration.isConversion && args.length === 1) {
      const value = call.invoke(a, b, c, d);
      if (value instanceof CelError) throw new ProgramError(value.message);
      return constant(value);
    }
    if (!declaration.parsesConstants) return { kind: "invoke", call, args };
    const value = call.invoke(a, b, c, d);
    const cost = typeof call.cost === "number" ? call.cost : call.cost(a, b, c, value);
    return { kind: "folded", value, cost };
  }

  #list(expr: ListLiteral): Node {
    const elements = expr.elements.map((element) => this.lower(element));
    const list: Value[] = [];
    let error: CelError | undefined;
    for (const [i, element] of elements.entries()) {
      if (element.kind !== "constant") return { kind: "list", elements, optional: expr.optional };
      if (element.value instanceof CelError) error ??= element.value;
      else if (expr.optional.has(i)) error ??= pushOptional(list, element.value);
      else list.push(element.value);
    }
    return constant(error ?? list);
  }

  #map(expr: MapLiteral): Node {
    const map = new LiteralMap();
    let isConstant = true;
    let error: CelError | undefined;
    const entries = expr.entries.map((entry) => {
      const [key, value] = [this.lower(entry.key), this.lower(entry.value)];
      // A key that Go cannot hash ends the evaluation. Upstream panics at compile time already.
      if (key.kind !== "constant" || value.kind !== "constant" || !isHashable(key.value)) isConstant = false;
      else if (value.value instanceof CelError) error ??= value.value;
      else if (entry.optional) error ??= setOptional(map, key.value, value.value);
      else map.set(key.value, value.value);
      return { key, value, optional: entry.optional };
    });
    return isConstant ? constant(error ?? map) : { kind: "map", entries };
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
    if (init.kind !== "constant") throw new ProgramError("a loop starts from a constant");
    const first = this.slots++;
    const { variable2 } = expr;
    const second = variable2 === undefined ? undefined : this.slots++;
    this.#scopes.push({ name: expr.accumulator, node: { kind: "local", slot } });
    const outer = this.#scopes.length;
    this.#scopes.push({ name: expr.variable, node: { kind: "local", slot: first } });
    if (variable2 !== undefined && second !== undefined) {
      this.#scopes.push({ name: variable2, node: { kind: "local", slot: second } });
    }
    const condition = this.lower(expr.condition);
    const step = collecting(this.lower(expr.step), slot);
    this.#scopes.length = outer;
    const result = this.lower(expr.result);
    this.#scopes.pop();
    return { kind: "loop", range, slot, init: init.value, first, second, condition, step, result };
  }
}
