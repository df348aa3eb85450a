import type { FunctionDeclaration, Overload } from "../library/declarations.ts";
import {
  type Call,
  type Comprehension,
  type Expr,
  type Identifier,
  type ListLiteral,
  type MapLiteral,
  qualifiedName,
  type Select,
  type StructLiteral,
} from "../syntax/ast.ts";
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
import { type CallReference, CheckedExpression, type Findings } from "./checked-expression.ts";
import { type CheckerEnv, fieldOf, findFunction, findGlobal, findType, isStruct } from "./env.ts";
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

export interface CheckResult {
  readonly checked: CheckedExpression;
  /** Empty for a valid expression. Otherwise the findings are incomplete. */
  readonly problems: readonly Problem[];
}

/** Finds the type of every node, and what names and calls refer to. */
export function check(expr: Expr, env: CheckerEnv): CheckResult {
  const checker = new Checker(env);
  try {
    checker.check(expr);
    if (checker.problems.length === 0) checker.substitute();
  } catch (error) {
    if (!(error instanceof TypeTooLarge)) throw error;
    checker.problems.push({ offset: checker.offset, message: "the type of this expression is too large" });
  }
  return { checked: new CheckedExpression(expr, checker), problems: checker.problems };
}

class Checker implements Findings {
  readonly problems: Problem[] = [];
  readonly types = new Map<Expr, CelType>();
  readonly globals = new Map<Expr, string>();
  readonly calls = new Map<Call, CallReference>();
  /** Offset of the node that was checked last. */
  offset = 0;
  readonly #env: CheckerEnv;
  readonly #unifier = new Unifier();
  readonly #locals: Map<string, CelType>[] = [];
  #freshParams = 0;

  constructor(env: CheckerEnv) {
    this.#env = env;
  }

  /** Replaces the type parameters in all types by their substitutions. */
  substitute(): void {
    for (const [expr, type] of this.types) this.types.set(expr, this.#unifier.substitute(type, true));
  }

  check(expr: Expr): CelType {
    const type = this.#typeOf(expr);
    this.offset = expr.offset;
    this.types.set(expr, type);
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

  #error(offset: number, message: string): CelType {
    this.problems.push({ offset, message });
    return errorType;
  }

  #undeclared(offset: number, name: string): CelType {
    const container = this.#env.container ?? "";
    return this.#error(offset, `undeclared reference to '${name}' (in container '${container}')`);
  }

  #mismatch(offset: number, wanted: CelType, actual: CelType): CelType {
    return this.#error(offset, mismatch(wanted, actual));
  }

  #local(name: string): CelType | undefined {
    if (name.startsWith(".")) return undefined;
    for (let i = this.#locals.length - 1; i >= 0; i--) {
      const local = this.#locals[i]!.get(name);
      if (local !== undefined) return local;
    }
    return undefined;
  }

  /** Finds a variable of the environment, or a type as a value. */
  #global(expr: Identifier | Select, name: string): CelType | undefined {
    const known = findGlobal(this.#env, name);
    if (known !== undefined) this.globals.set(expr, known.name);
    return known?.type;
  }

  #identifier(expr: Identifier): CelType {
    const local = this.#local(expr.name);
    return local ?? this.#global(expr, expr.name) ?? this.#undeclared(expr.offset, expr.name);
  }

  #resolve(type: CelType): CelType {
    return this.#unifier.substitute(type, false);
  }

  #freshParam(): CelType {
    return types.typeParam(`_var${this.#freshParams++}`);
  }

  #select(expr: Select): CelType {
    const name = qualifiedName(expr);
    if (name !== undefined && this.#local(name.split(".", 1)[0]!) === undefined) {
      const known = this.#global(expr, name);
      if (known !== undefined) return known;
    }
    const result = this.#selectField(expr.offset, expr.operand, expr.field, false);
    return expr.testOnly ? boolType : this.#resolve(result);
  }

  #selectField(offset: number, operand: Expr, field: string, optional: boolean): CelType {
    const type = this.#resolve(this.check(operand));
    if (!isOptional(type)) {
      const result = this.#field(offset, type, field);
      return optional ? optionalType(result) : result;
    }
    return optionalType(this.#field(offset, type.params[0]!, field));
  }

  #field(offset: number, target: CelType, field: string): CelType {
    switch (target.kind) {
      case "map":
        return target.params[1]!;
      case "struct":
        return this.#structField(offset, target.name, field);
      case "param":
        this.#unifier.isAssignable(dynType, target);
        return dynType;
      default:
        if (!isDynOrError(target)) {
          this.#error(offset, `type '${checkerName(target)}' does not support field selection`);
        }
        return dynType;
    }
  }

  #structField(offset: number, type: string, field: string): CelType {
    const found = fieldOf(this.#env, type, field);
    if (found === "unknown type") return this.#error(offset, `unexpected failed resolution of '${type}'`);
    return found ?? this.#error(offset, `undefined field '${field}'`);
  }

  #call(expr: Call): CelType {
    if (expr.name === "_?._") return this.#optionalSelect(expr);
    const args = expr.args.map((arg) => this.check(arg));
    if (expr.target === undefined) {
      const declaration = findFunction(this.#env, expr.name);
      if (declaration === undefined) return this.#undeclared(expr.offset, expr.name);
      return this.#overload(expr, undefined, declaration, args);
    }
    const prefix = qualifiedName(expr.target);
    const namespaced = prefix === undefined ? undefined : findFunction(this.#env, `${prefix}.${expr.name}`);
    if (namespaced !== undefined) return this.#overload(expr, undefined, namespaced, args);
    const target = this.check(expr.target);
    const declaration = findFunction(this.#env, expr.name);
    if (declaration === undefined) return this.#undeclared(expr.offset, expr.name);
    return this.#overload(expr, expr.target, declaration, [target, ...args]);
  }

  #optionalSelect(expr: Call): CelType {
    const [operand, field] = expr.args as readonly [Expr, Expr];
    const name = field.kind === "literal" ? (field.value as string) : "";
    const result = this.#selectField(expr.offset, operand, name, true);
    this.check(field);
    const overloads = findFunction(this.#env, "_?._")?.overloads ?? [];
    this.calls.set(expr, { name: expr.name, target: undefined, overloads });
    return this.#resolve(result);
  }

  /** Resolves the overloads of a call. `target` is its receiver. */
  #overload(
    expr: Call,
    target: Expr | undefined,
    declaration: FunctionDeclaration,
    args: readonly CelType[],
  ): CelType {
    const { name } = declaration;
    const member = target !== undefined;
    if (logical.has(name)) return this.#logical(expr, target, declaration, args);
    const overloads: Overload[] = [];
    let result: CelType | undefined;
    for (const overload of declaration.overloads) {
      if (overload.member !== member) continue;
      const instance = this.#instantiate(overload);
      if (!this.#unifier.areAssignable(args, instance.args)) continue;
      overloads.push(overload);
      const type = this.#resolve(instance.result);
      if (result === undefined) result = type;
      else if (!isDyn(result) && !sameType(type, result)) result = dynType;
    }
    this.calls.set(expr, { name, target, overloads });
    if (result !== undefined) return result;
    const names = args.map((arg) => this.#unifier.substitute(arg, true));
    return this.#error(
      expr.offset,
      `found no matching overload for '${name}' applied to '${callName(names, member)}'`,
    );
  }

  /** `&&` and `||`: each operand is checked by itself. */
  #logical(
    expr: Call,
    target: Expr | undefined,
    { name, overloads }: FunctionDeclaration,
    args: readonly CelType[],
  ): CelType {
    this.calls.set(expr, { name, target, overloads });
    let result = boolType;
    args.forEach((arg, i) => {
      if (!this.#unifier.isAssignable(arg, boolType))
        result = this.#mismatch(expr.args[i]!.offset, boolType, arg);
    });
    return result;
  }

  /** Replaces the type parameters of an overload by fresh ones. */
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

  #list(expr: ListLiteral): CelType {
    let joined: CelType | undefined;
    expr.elements.forEach((element, i) => {
      const type = this.check(element);
      joined = this.#join(joined, expr.optional.has(i) ? this.#unwrap(element.offset, type) : type);
    });
    return listType(joined ?? this.#freshParam());
  }

  #map(expr: MapLiteral): CelType {
    let key: CelType | undefined;
    let value: CelType | undefined;
    for (const entry of expr.entries) {
      key = this.#join(key, this.check(entry.key));
      const type = this.check(entry.value);
      value = this.#join(value, entry.optional ? this.#unwrap(entry.value.offset, type) : type);
    }
    return mapType(key ?? this.#freshParam(), value ?? this.#freshParam());
  }

  #struct(expr: StructLiteral): CelType {
    let type = findType(this.#env, expr.name);
    if (type === undefined) return this.#undeclared(expr.offset, expr.name);
    const isMessage = type.kind === "struct" && isStruct(this.#env, type.name);
    if (!isMessage) {
      this.#error(expr.offset, `'${type.name}' is not a message type`);
      type = errorType;
    }
    for (const field of expr.fields) {
      const actual = this.check(field.value);
      const value = field.optional ? this.#unwrap(field.value.offset, actual) : actual;
      const wanted = isMessage ? this.#structField(field.offset, type.name, field.name) : errorType;
      if (this.#unifier.isAssignable(wanted, value)) continue;
      const problem = `expected type of field '${field.name}' is '${checkerName(wanted)}' but provided type is '${checkerName(value)}'`;
      this.#error(field.offset, problem);
    }
    return type;
  }

  /** The type of the value in `?element`. */
  #unwrap(offset: number, type: CelType): CelType {
    if (isOptional(type)) return type.params[0]!;
    if (!isDyn(type)) this.#mismatch(offset, optionalType(type), type);
    return type;
  }

  /**
   * Joins the type of the elements so far with that of a further one. `checkLiterals` rejects mixed types.
   */
  #join(known: CelType | undefined, type: CelType): CelType {
    if (known === undefined) return type;
    return this.#unifier.isAssignable(known, type) ? moreGeneral(known, type) : dynType;
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

  /** The types of the one or two iteration variables. */
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
        this.#unifier.isAssignable(dynType, range);
        return [dynType, dynType];
      default: {
        const message = `expression of type '${checkerName(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`;
        this.#error(expr.range.offset, message);
        return [errorType, errorType];
      }
    }
  }

  #expect(expr: Expr, wanted: CelType): void {
    const actual = this.check(expr);
    if (!this.#unifier.isAssignable(wanted, actual)) this.#mismatch(expr.offset, wanted, actual);
  }
}

const logical: ReadonlySet<string> = new Set(["_&&_", "_||_"]);

/** The error of a type that is not assignable. */
export function mismatch(wanted: CelType, actual: CelType): string {
  return `expected type '${checkerName(wanted)}' but found '${checkerName(actual)}'`;
}
