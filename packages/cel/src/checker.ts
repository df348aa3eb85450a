import { type Call, type Comprehension, type Expr, qualifiedName, type Select } from "./ast.ts";
import type { FunctionDeclaration, Overload } from "./declarations.ts";
import type { Problem } from "./source.ts";
import * as types from "./types.ts";
import {
  boolType,
  type CelType,
  callName,
  checkerName,
  dynType,
  errorType,
  intType,
  isDyn,
  isDynOrError,
  isOptional,
  listType,
  mapType,
  optionalType,
  sameType,
  stringType,
} from "./types.ts";
import { Unifier } from "./unifier.ts";
import { typeName, type Value } from "./values.ts";

/** What names mean: the variables, the fields of declared types and the functions. */
export interface Scope {
  readonly variables: ReadonlyMap<string, CelType>;
  /** By the name of the type, then of the field. */
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, CelType>>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
}

const literalTypes: Readonly<Record<string, CelType>> = {
  bool: types.boolType,
  int: types.intType,
  uint: types.uintType,
  double: types.doubleType,
  string: types.stringType,
  bytes: types.bytesType,
  null_type: types.nullType,
};

/** Gives every expression its type and every call its overloads, and answers what is wrong. */
export function check(expr: Expr, scope: Scope): readonly Problem[] {
  const checker = new Checker(scope);
  checker.check(expr);
  if (checker.problems.length === 0) checker.settle();
  return checker.problems;
}

class Checker {
  readonly problems: Problem[] = [];
  readonly #scope: Scope;
  readonly #unifier = new Unifier();
  readonly #locals: Map<string, CelType>[] = [];
  readonly #checked: Expr[] = [];
  #fresh = 0;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  /** Replaces what type parameters are left by what they turned out to be. */
  settle(): void {
    for (const expr of this.#checked) expr.type = this.#unifier.replace(expr.type ?? errorType, true);
  }

  check(expr: Expr): CelType {
    expr.type = this.#typeOf(expr);
    this.#checked.push(expr);
    return expr.type;
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.kind) {
      case "literal":
        return literalTypes[typeName(expr.value)] ?? errorType;
      case "identifier":
        return this.#identifier(expr.name, expr.at);
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        this.#undeclared(expr.at, expr.name);
        for (const field of expr.fields) this.check(field.value);
        return errorType;
      case "comprehension":
        return this.#comprehension(expr);
    }
  }

  #error(at: number, message: string): CelType {
    this.problems.push({ at, message });
    return errorType;
  }

  #undeclared(at: number, name: string): CelType {
    return this.#error(at, `undeclared reference to '${name.replace(/^\./, "")}' (in container '')`);
  }

  #lookup(name: string): CelType | undefined {
    for (let i = this.#locals.length - 1; i >= 0; i--) {
      const local = this.#locals[i]!.get(name);
      if (local !== undefined) return local;
    }
    return this.#scope.variables.get(name.replace(/^\./, ""));
  }

  #identifier(name: string, at: number): CelType {
    return this.#lookup(name) ?? this.#undeclared(at, name);
  }

  #resolve(type: CelType): CelType {
    return this.#unifier.replace(type, false);
  }

  #freshParam(): CelType {
    return types.typeParam(`_${this.#fresh++}`);
  }

  #select(expr: Select): CelType {
    const name = qualifiedName(expr);
    if (name?.includes(".")) {
      const known = this.#scope.variables.get(name);
      if (known !== undefined) return known;
    }
    const operand = this.#resolve(this.check(expr.operand));
    const optional = isOptional(operand);
    const inner = optional ? this.#resolve(operand.params[0]!) : operand;
    const result = this.#field(expr.at, inner, expr.field);
    if (expr.testOnly) return boolType;
    return optional ? optionalType(result) : result;
  }

  #field(at: number, target: CelType, field: string): CelType {
    switch (target.kind) {
      case "map":
        return target.params[1]!;
      case "struct":
        return (
          this.#scope.fields.get(target.name)?.get(field) ?? this.#error(at, `undefined field '${field}'`)
        );
      case "param":
        this.#unifier.cover(target, dynType);
        return dynType;
      default:
        if (!isDynOrError(target)) {
          return this.#error(at, `type '${checkerName(target)}' does not support field selection`);
        }
        return dynType;
    }
  }

  #call(expr: Call): CelType {
    if (expr.name === "_?._") return this.#optionalSelect(expr);
    const args = expr.args.map((arg) => this.check(arg));
    if (expr.target === undefined) {
      const declaration = this.#scope.functions.get(expr.name.replace(/^\./, ""));
      if (declaration === undefined) return this.#undeclared(expr.at, expr.name);
      return this.#overload(expr, declaration, args, false);
    }
    const prefix = qualifiedName(expr.target);
    if (prefix !== undefined) {
      const namespaced = this.#scope.functions.get(`${prefix}.${expr.name}`);
      if (namespaced !== undefined) {
        expr.name = namespaced.name;
        expr.target = undefined;
        return this.#overload(expr, namespaced, args, false);
      }
    }
    const target = this.check(expr.target);
    const declaration = this.#scope.functions.get(expr.name);
    if (declaration === undefined) return this.#undeclared(expr.at, expr.name);
    return this.#overload(expr, declaration, [target, ...args], true);
  }

  #optionalSelect(expr: Call): CelType {
    const [operand, field] = expr.args as readonly [Expr, Expr];
    const operandType = this.#resolve(this.check(operand));
    this.check(field);
    const inner = isOptional(operandType) ? this.#resolve(operandType.params[0]!) : operandType;
    const name = field.kind === "literal" ? (field.value as string) : "";
    expr.overloads = this.#scope.functions.get("_?._")?.overloads ?? [];
    return optionalType(this.#field(expr.at, inner, name));
  }

  #overload(
    expr: Call,
    declaration: FunctionDeclaration,
    args: readonly CelType[],
    member: boolean,
  ): CelType {
    const fitting: Overload[] = [];
    let result: CelType | undefined;
    for (const overload of declaration.overloads) {
      if (overload.member !== member) continue;
      const instance = this.#instantiate(overload);
      if (this.#unifier.coverAll(args, instance.args) === undefined) continue;
      fitting.push(overload);
      const type = this.#resolve(instance.result);
      if (result === undefined) result = type;
      else if (!isDyn(result) && !sameType(type, result)) result = dynType;
    }
    expr.overloads = fitting;
    if (result !== undefined) return result;
    const names = args.map((arg) => this.#unifier.replace(arg, true));
    return this.#error(
      expr.at,
      `found no matching overload for '${declaration.name}' applied to '${callName(names, member)}'`,
    );
  }

  #instantiate(overload: Overload): { args: readonly CelType[]; result: CelType } {
    const fresh = new Map<string, CelType>();
    const rename = (type: CelType): CelType => {
      if (type.kind === "param") {
        const known = fresh.get(type.name) ?? this.#freshParam();
        fresh.set(type.name, known);
        return known;
      }
      return type.params.length === 0 ? type : { ...type, params: type.params.map(rename) };
    };
    return { args: overload.args.map(rename), result: rename(overload.result) };
  }

  #list(expr: Expr & { kind: "list" }): CelType {
    let joined: CelType | undefined;
    expr.elements.forEach((element, i) => {
      joined = this.#join(joined, this.#element(element, expr.optional.has(i)));
    });
    return listType(joined ?? this.#freshParam());
  }

  #map(expr: Expr & { kind: "map" }): CelType {
    let key: CelType | undefined;
    let value: CelType | undefined;
    for (const entry of expr.entries) {
      key = this.#join(key, this.check(entry.key));
      value = this.#join(value, this.#element(entry.value, entry.optional));
    }
    return mapType(key ?? this.#freshParam(), value ?? this.#freshParam());
  }

  #element(expr: Expr, optional: boolean): CelType {
    const type = this.#resolve(this.check(expr));
    if (!optional) return type;
    if (isOptional(type)) return type.params[0]!;
    if (isDynOrError(type)) return type;
    return this.#error(
      expr.at,
      `expected type '${checkerName(optionalType(type))}' but found '${checkerName(type)}'`,
    );
  }

  /** The type of elements of both: mixed ones make a list of dyn, which the literal check refuses later. */
  #join(known: CelType | undefined, type: CelType): CelType {
    if (known === undefined) return type;
    const cover = this.#unifier.cover(known, type);
    return cover === undefined ? dynType : this.#resolve(cover);
  }

  #comprehension(expr: Comprehension): CelType {
    const range = this.#resolve(this.check(expr.range));
    const init = this.check(expr.init);
    const [first, second] = this.#iterated(expr, range);
    this.#locals.push(new Map([[expr.accumulator, init]]));
    const variables = new Map([[expr.variable, first]]);
    if (expr.variable2 !== undefined) variables.set(expr.variable2, second);
    this.#locals.push(variables);
    const condition = this.check(expr.condition);
    this.#expect(condition, boolType, expr.condition.at);
    const step = this.check(expr.step);
    this.#expect(step, init, expr.step.at);
    this.#locals.pop();
    const result = this.check(expr.result);
    this.#locals.pop();
    return this.#resolve(result);
  }

  #iterated(expr: Comprehension, range: CelType): [CelType, CelType] {
    const two = expr.variable2 !== undefined;
    switch (range.kind) {
      case "list":
        return two ? [intType, range.params[0]!] : [range.params[0]!, errorType];
      case "map":
        return [range.params[0]!, range.params[1]!];
      case "dyn":
      case "error":
        return [dynType, dynType];
      case "param":
        this.#unifier.cover(range, dynType);
        return [dynType, dynType];
      default: {
        const message = `expression of type '${checkerName(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`;
        return [this.#error(expr.range.at, message), errorType];
      }
    }
  }

  #expect(actual: CelType, wanted: CelType, at: number): void {
    if (this.#unifier.cover(wanted, actual) !== undefined) return;
    this.#error(at, mismatch(this.#unifier.replace(wanted, true), this.#unifier.replace(actual, true)));
  }
}

function mismatch(wanted: CelType, actual: CelType): string {
  return `expected type '${checkerName(wanted)}' but found '${checkerName(actual)}'`;
}

/** Functions whose list argument may mix types. */
const mixing = new Set(["format"]);

/**
 * The checks of constants that Kubernetes adds to the type checker: elements of one literal are of one type, and
 * constant durations, timestamps and patterns can be read.
 */
export function checkLiterals(expr: Expr, readers: ReadonlyMap<string, (text: string) => Value>): Problem[] {
  const problems: Problem[] = [];
  const visit = (node: Expr, exempt: boolean): void => {
    switch (node.kind) {
      case "list":
        if (!exempt) homogeneous(node.elements, (i) => node.optional.has(i), problems);
        for (const element of node.elements) visit(element, exempt);
        break;
      case "map":
        if (!exempt) {
          homogeneous(
            node.entries.map((entry) => entry.key),
            () => false,
            problems,
          );
          homogeneous(
            node.entries.map((entry) => entry.value),
            (i) => node.entries[i]!.optional,
            problems,
          );
        }
        for (const entry of node.entries) {
          visit(entry.key, exempt);
          visit(entry.value, exempt);
        }
        break;
      case "call":
        readable(node, readers, problems);
        if (node.target !== undefined) visit(node.target, false);
        for (const arg of node.args) visit(arg, mixing.has(node.name));
        break;
      case "select":
        visit(node.operand, exempt);
        break;
      case "comprehension":
        for (const part of [node.range, node.init, node.condition, node.step, node.result])
          visit(part, exempt);
        break;
      default:
    }
  };
  visit(expr, false);
  return problems;
}

function homogeneous(elements: readonly Expr[], optional: (i: number) => boolean, problems: Problem[]): void {
  let wanted: CelType | undefined;
  elements.forEach((element, i) => {
    const type = element.type ?? errorType;
    const actual = optional(i) && isOptional(type) ? type.params[0]! : type;
    if (wanted === undefined) wanted = actual;
    else if (!sameType(wanted, actual)) problems.push({ at: element.at, message: mismatch(wanted, actual) });
  });
}

function readable(
  call: Call,
  readers: ReadonlyMap<string, (text: string) => Value>,
  problems: Problem[],
): void {
  const reader = readers.get(call.name);
  if (reader === undefined) return;
  const arg = call.args[call.name === "matches" && call.target === undefined ? 1 : 0];
  if (arg?.kind !== "literal" || typeof arg.value !== "string" || typeName(reader(arg.value)) !== "error")
    return;
  problems.push({ at: arg.at, message: `invalid ${call.name} argument` });
}

export { stringType };
