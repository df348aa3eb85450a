import { type CelType, dynType, isDyn, isDynOrError, sameType } from "../values/types.ts";

/** A type with its substitutions has too many parts: `{a: a}`, nested repeatedly. */
export class TypeTooLarge extends Error {
  override readonly name = "TypeTooLarge";
}

/** Maximum number of parts of types that one question visits. */
const maxSteps = 20_000;

/** Finds the substitutions of type parameters. Upstream: cel-go checker/types.go, checker/mapping.go */
export class Unifier {
  readonly #substitutions = new Map<string, CelType>();
  #steps = 0;
  /** Undo log of an attempt, latest entry last. */
  readonly #undo: { readonly param: string; readonly before: CelType | undefined }[] = [];

  /**
   * Reports whether two types are assignable to each other. On success it keeps the necessary substitutions.
   */
  isAssignable(a: CelType, b: CelType): boolean {
    return this.areAssignable([a], [b]);
  }

  /** The same for two lists of types, with one substitution for each parameter. */
  areAssignable(a: readonly CelType[], b: readonly CelType[]): boolean {
    this.#steps = 0;
    const start = this.#undo.length;
    const all = a.length === b.length && a.every((type, i) => this.#assign(type, b[i]!));
    if (!all) this.#restore(start);
    return all;
  }

  /** Replaces the parameters in a type by their substitutions. Others become dyn if `freeToDyn` is set. */
  substitute(type: CelType, freeToDyn: boolean): CelType {
    this.#steps = 0;
    return this.#substitute(type, freeToDyn);
  }

  #substitute(type: CelType, freeToDyn: boolean): CelType {
    this.#step();
    if (type.kind === "param") {
      const substitution = this.#substitutions.get(type.name);
      if (substitution !== undefined) return this.#substitute(substitution, freeToDyn);
      return freeToDyn ? dynType : type;
    }
    if (type.params.length === 0) return type;
    return { ...type, params: type.params.map((param) => this.#substitute(param, freeToDyn)) };
  }

  #step(): void {
    if (++this.#steps > maxSteps) throw new TypeTooLarge();
  }

  #assign(a: CelType, b: CelType): boolean {
    this.#step();
    if (b.kind === "param") {
      const known = this.#substitutions.has(b.name);
      if (this.#bind(b, a)) return true;
      if (known) return false;
    }
    if (a.kind === "param") return this.#bind(a, b);
    if (isDynOrError(a) || isDynOrError(b)) return true;
    if (a.kind === "null") return nullable.has(b.kind);
    if (b.kind === "null") return nullable.has(a.kind);
    if (a.kind !== b.kind) return false;
    if (a.kind === "type") return true;
    return (
      a.name === b.name &&
      a.params.length === b.params.length &&
      a.params.every((param, i) => this.#assign(param, b.params[i]!))
    );
  }

  /** Substitutes the more general of `type` and the substitution so far. */
  #bind(param: CelType, type: CelType): boolean {
    if (sameType(param, type)) return true;
    const before = this.#substitutions.get(param.name);
    if (before === undefined) {
      if (this.#occurs(param, type)) return false;
      this.#set(param.name, before, type);
      return true;
    }
    if (sameType(before, type)) return true;
    if (!this.#assign(type, before)) return false;
    const general = moreGeneral(type, before);
    if (!this.#occurs(param, general)) this.#set(param.name, this.#substitutions.get(param.name), general);
    return true;
  }

  #set(param: string, before: CelType | undefined, substitution: CelType): void {
    this.#undo.push({ param, before });
    this.#substitutions.set(param, substitution);
  }

  /** The occurs check: whether a parameter is part of a type, substitutions included. */
  #occurs(param: CelType, type: CelType): boolean {
    this.#step();
    if (type.kind !== "param") return type.params.some((inner) => this.#occurs(param, inner));
    if (type.name === param.name) return true;
    const substitution = this.#substitutions.get(type.name);
    return substitution !== undefined && this.#occurs(param, substitution);
  }

  #restore(start: number): void {
    for (const { param, before } of this.#undo.splice(start).reverse()) {
      if (before === undefined) this.#substitutions.delete(param);
      else this.#substitutions.set(param, before);
    }
  }
}

/** Kinds of types with null as a value. */
const nullable: ReadonlySet<CelType["kind"]> = new Set(["opaque", "struct", "duration", "timestamp", "null"]);

/** The more general of two assignable types; the first one if they are equal. */
export function moreGeneral(a: CelType, b: CelType): CelType {
  return isEqualOrLessSpecific(a, b) ? a : b;
}

function isEqualOrLessSpecific(a: CelType, b: CelType): boolean {
  if (isDyn(a) || a.kind === "param") return true;
  if (isDyn(b) || b.kind === "param" || a.kind !== b.kind) return false;
  if (a.kind === "type") return true;
  return (
    a.name === b.name &&
    a.params.length === b.params.length &&
    a.params.every((param, i) => isEqualOrLessSpecific(param, b.params[i]!))
  );
}
