import type { FunctionDeclaration, Overload } from "../library/declarations.ts";
import { type Call, type Comprehension, type Expr, qualifiedName, type Select } from "../syntax/ast.ts";
import type { Problem } from "../syntax/source.ts";
import * as types from "../values/types.ts";
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
} from "../values/types.ts";
import { typeName } from "../values/value.ts";
import { fieldOf, findFunction, findGlobal, findType, isStruct, type Scope } from "./env.ts";
import { moreGeneral, TypeTooLarge, Unifier } from "./unifier.ts";

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
  try {
    checker.check(expr);
    if (checker.problems.length === 0) checker.settle();
  } catch (error) {
    if (!(error instanceof TypeTooLarge)) throw error;
    checker.problems.push({ at: checker.place, message: "the type of this expression is too large" });
  }
  return checker.problems;
}

class Checker {
  readonly problems: Problem[] = [];
  /** Of the expression looked at last. */
  place = 0;
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
    const type = this.#typeOf(expr);
    this.place = expr.at;
    expr.type = type;
    this.#checked.push(expr);
    return type;
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.kind) {
      case "literal":
        return literalTypes[typeName(expr.value)] ?? errorType;
      case "identifier":
        return this.#identifier(expr);
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        return this.#struct(expr);
      case "comprehension":
        return this.#comprehension(expr);
    }
  }

  #error(at: number, message: string): CelType {
    this.problems.push({ at, message });
    return errorType;
  }

  #undeclared(at: number, name: string): CelType {
    const container = this.#scope.container ?? "";
    return this.#error(at, `undeclared reference to '${name}' (in container '${container}')`);
  }

  #mismatch(at: number, wanted: CelType, actual: CelType): CelType {
    return this.#error(at, mismatch(wanted, actual));
  }

  #local(name: string): CelType | undefined {
    if (name.startsWith(".")) return undefined;
    for (let i = this.#locals.length - 1; i >= 0; i--) {
      const local = this.#locals[i]!.get(name);
      if (local !== undefined) return local;
    }
    return undefined;
  }

  /** Finds a variable, or a type taken for a value, of the environment, and notes its name. */
  #global(expr: Expr & { kind: "identifier" | "select" }, name: string): CelType | undefined {
    const known = findGlobal(this.#scope, name);
    if (known !== undefined) expr.global = known.name;
    return known?.type;
  }

  #identifier(expr: Expr & { kind: "identifier" }): CelType {
    const local = this.#local(expr.name);
    return local ?? this.#global(expr, expr.name) ?? this.#undeclared(expr.at, expr.name);
  }

  #resolve(type: CelType): CelType {
    return this.#unifier.replace(type, false);
  }

  #freshParam(): CelType {
    return types.typeParam(`_var${this.#fresh++}`);
  }

  #select(expr: Select): CelType {
    const name = qualifiedName(expr);
    if (name !== undefined && this.#local(name.split(".", 1)[0]!) === undefined) {
      const known = this.#global(expr, name);
      if (known !== undefined) return known;
    }
    const result = this.#selectField(expr.at, expr.operand, expr.field, false);
    return expr.testOnly ? boolType : this.#resolve(result);
  }

  #selectField(at: number, operand: Expr, field: string, optional: boolean): CelType {
    const type = this.#resolve(this.check(operand));
    if (!isOptional(type)) {
      const result = this.#field(at, type, field);
      return optional ? optionalType(result) : result;
    }
    return optionalType(this.#field(at, type.params[0]!, field));
  }

  #field(at: number, target: CelType, field: string): CelType {
    switch (target.kind) {
      case "map":
        return target.params[1]!;
      case "struct":
        return this.#structField(at, target.name, field);
      case "param":
        this.#unifier.fits(dynType, target);
        return dynType;
      default:
        if (!isDynOrError(target)) {
          this.#error(at, `type '${checkerName(target)}' does not support field selection`);
        }
        return dynType;
    }
  }

  #structField(at: number, type: string, field: string): CelType {
    const found = fieldOf(this.#scope, type, field);
    if (found === "unknown type") return this.#error(at, `unexpected failed resolution of '${type}'`);
    return found ?? this.#error(at, `undefined field '${field}'`);
  }

  #call(expr: Call): CelType {
    if (expr.name === "_?._") return this.#optionalSelect(expr);
    const args = expr.args.map((arg) => this.check(arg));
    if (expr.target === undefined) {
      const declaration = findFunction(this.#scope, expr.name);
      if (declaration === undefined) return this.#undeclared(expr.at, expr.name);
      return this.#overload(expr, declaration, args);
    }
    const prefix = qualifiedName(expr.target);
    const namespaced = prefix === undefined ? undefined : findFunction(this.#scope, `${prefix}.${expr.name}`);
    if (namespaced !== undefined) {
      expr.target = undefined;
      return this.#overload(expr, namespaced, args);
    }
    const target = this.check(expr.target);
    const declaration = findFunction(this.#scope, expr.name);
    if (declaration === undefined) return this.#undeclared(expr.at, expr.name);
    return this.#overload(expr, declaration, [target, ...args]);
  }

  #optionalSelect(expr: Call): CelType {
    const [operand, field] = expr.args as readonly [Expr, Expr];
    const name = field.kind === "literal" ? (field.value as string) : "";
    const result = this.#selectField(expr.at, operand, name, true);
    this.check(field);
    expr.overloads = findFunction(this.#scope, "_?._")?.overloads ?? [];
    return this.#resolve(result);
  }

  #overload(expr: Call, declaration: FunctionDeclaration, args: readonly CelType[]): CelType {
    expr.name = declaration.name;
    const member = expr.target !== undefined;
    if (logical.has(expr.name)) return this.#logical(expr, declaration, args);
    const fitting: Overload[] = [];
    let result: CelType | undefined;
    for (const overload of declaration.overloads) {
      if (overload.member !== member) continue;
      const instance = this.#instantiate(overload);
      if (!this.#unifier.fitsAll(args, instance.args)) continue;
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

  /** `&&` and `||`: each operand is judged by itself. */
  #logical(expr: Call, declaration: FunctionDeclaration, args: readonly CelType[]): CelType {
    expr.overloads = declaration.overloads;
    let result = boolType;
    args.forEach((arg, i) => {
      if (!this.#unifier.fits(arg, boolType)) result = this.#mismatch(expr.args[i]!.at, boolType, arg);
    });
    return result;
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
      const type = this.check(element);
      joined = this.#join(joined, expr.optional.has(i) ? this.#unwrap(element.at, type) : type);
    });
    return listType(joined ?? this.#freshParam());
  }

  #map(expr: Expr & { kind: "map" }): CelType {
    let key: CelType | undefined;
    let value: CelType | undefined;
    for (const entry of expr.entries) {
      key = this.#join(key, this.check(entry.key));
      const type = this.check(entry.value);
      value = this.#join(value, entry.optional ? this.#unwrap(entry.value.at, type) : type);
    }
    return mapType(key ?? this.#freshParam(), value ?? this.#freshParam());
  }

  #struct(expr: Expr & { kind: "struct" }): CelType {
    let type = findType(this.#scope, expr.name);
    if (type === undefined) return this.#undeclared(expr.at, expr.name);
    const message = type.kind === "struct" && isStruct(this.#scope, type.name);
    if (!message) {
      this.#error(expr.at, `'${type.name}' is not a message type`);
      type = errorType;
    }
    for (const field of expr.fields) {
      const actual = this.check(field.value);
      const value = field.optional ? this.#unwrap(field.value.at, actual) : actual;
      const wanted = message ? this.#structField(field.at, type.name, field.name) : errorType;
      if (this.#unifier.fits(wanted, value)) continue;
      const message_ = `expected type of field '${field.name}' is '${checkerName(wanted)}' but provided type is '${checkerName(value)}'`;
      this.#error(field.at, message_);
    }
    return type;
  }

  /** The type of what `?element` adds. */
  #unwrap(at: number, type: CelType): CelType {
    if (isOptional(type)) return type.params[0]!;
    if (!isDyn(type)) this.#mismatch(at, optionalType(type), type);
    return type;
  }

  /** The type of the elements of one literal so far and a further one: mixed ones are refused by `checkLiterals`. */
  #join(known: CelType | undefined, type: CelType): CelType {
    if (known === undefined) return type;
    return this.#unifier.fits(known, type) ? moreGeneral(known, type) : dynType;
  }

  #comprehension(expr: Comprehension): CelType {
    const rangeType = this.check(expr.range);
    const init = this.check(expr.init);
    const range = this.#resolve(rangeType);
    const [first, second] = this.#iterated(expr, range);
    this.#locals.push(new Map([[expr.accumulator, init]]));
    const variables = new Map([[expr.variable, first]]);
    if (expr.variable2 !== undefined) variables.set(expr.variable2, second);
    this.#locals.push(variables);
    this.#expect(expr.condition, boolType);
    this.#expect(expr.step, init);
    this.#locals.pop();
    const result = this.check(expr.result);
    this.#locals.pop();
    return this.#resolve(result);
  }

  #iterated(expr: Comprehension, range: CelType): readonly [CelType, CelType] {
    switch (range.kind) {
      case "list": {
        const element = range.params[0]!;
        return expr.variable2 === undefined ? [element, errorType] : [intType, element];
      }
      case "map":
        return [range.params[0]!, range.params[1]!];
      case "dyn":
      case "error":
      case "param":
        this.#unifier.fits(dynType, range);
        return [dynType, dynType];
      default: {
        const message = `expression of type '${checkerName(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`;
        this.#error(expr.range.at, message);
        return [errorType, errorType];
      }
    }
  }

  #expect(expr: Expr, wanted: CelType): void {
    const actual = this.check(expr);
    if (!this.#unifier.fits(wanted, actual)) this.#mismatch(expr.at, wanted, actual);
  }
}

const logical: ReadonlySet<string> = new Set(["_&&_", "_||_"]);

/** How cel-go words that a type is not the one that is wanted. */
export function mismatch(wanted: CelType, actual: CelType): string {
  return `expected type '${checkerName(wanted)}' but found '${checkerName(actual)}'`;
}
