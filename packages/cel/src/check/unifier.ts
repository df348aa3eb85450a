import { type CelType, dynType, isDyn, isDynOrError, sameType } from "../values/types.ts";

/** A type, or what its parameters stand for, has so many parts that nobody can have meant it: `{a: a}` often repeated. */
export class TypeTooLarge extends Error {
  override readonly name = "TypeTooLarge";
}

/** Parts of types looked at for one question. */
const mostSteps = 20_000;

/** Finds out what the type parameters of the functions in use stand for, as cel-go's checker does. */
export class Unifier {
  readonly #meanings = new Map<string, CelType>();
  #steps = 0;
  /** What to put back when an attempt fails, latest last. */
  readonly #undo: { readonly param: string; readonly before: CelType | undefined }[] = [];

  /**
   * Whether a value of either type can stand where the other is wanted. Parameters take a meaning on the way, and keep
   * none if the answer is no.
   */
  fits(a: CelType, b: CelType): boolean {
    return this.fitsAll([a], [b]);
  }

  /** The same for two rows of types, with one meaning for each parameter throughout. */
  fitsAll(a: readonly CelType[], b: readonly CelType[]): boolean {
    this.#steps = 0;
    const start = this.#undo.length;
    const all = a.length === b.length && a.every((type, i) => this.#fits(type, b[i]!));
    if (!all) this.#takeBack(start);
    return all;
  }

  /** `type` with its parameters replaced by their meanings; the others stay, or become dyn. */
  replace(type: CelType, freeBecomeDyn: boolean): CelType {
    this.#steps = 0;
    return this.#replace(type, freeBecomeDyn);
  }

  #replace(type: CelType, freeBecomeDyn: boolean): CelType {
    this.#step();
    if (type.kind === "param") {
      const meaning = this.#meanings.get(type.name);
      if (meaning !== undefined) return this.#replace(meaning, freeBecomeDyn);
      return freeBecomeDyn ? dynType : type;
    }
    if (type.params.length === 0) return type;
    return { ...type, params: type.params.map((param) => this.#replace(param, freeBecomeDyn)) };
  }

  #step(): void {
    if (++this.#steps > mostSteps) throw new TypeTooLarge();
  }

  #fits(a: CelType, b: CelType): boolean {
    this.#step();
    if (b.kind === "param") {
      const known = this.#meanings.has(b.name);
      if (this.#give(b, a)) return true;
      if (known) return false;
    }
    if (a.kind === "param") return this.#give(a, b);
    if (isDynOrError(a) || isDynOrError(b)) return true;
    if (a.kind === "null") return nullable.has(b.kind);
    if (b.kind === "null") return nullable.has(a.kind);
    if (a.kind !== b.kind) return false;
    if (a.kind === "type") return true;
    return (
      a.name === b.name &&
      a.params.length === b.params.length &&
      a.params.every((param, i) => this.#fits(param, b.params[i]!))
    );
  }

  /** Makes a parameter stand for the more general of `type` and its meaning so far. */
  #give(param: CelType, type: CelType): boolean {
    if (sameType(param, type)) return true;
    const before = this.#meanings.get(param.name);
    if (before === undefined) {
      if (this.#mentions(type, param)) return false;
      this.#set(param.name, before, type);
      return true;
    }
    if (sameType(before, type)) return true;
    if (!this.#fits(type, before)) return false;
    const meaning = moreGeneral(type, before);
    if (!this.#mentions(meaning, param)) this.#set(param.name, this.#meanings.get(param.name), meaning);
    return true;
  }

  #set(param: string, before: CelType | undefined, meaning: CelType): void {
    this.#undo.push({ param, before });
    this.#meanings.set(param, meaning);
  }

  /** Whether the parameter is part of the type or of what its parameters stand for. */
  #mentions(type: CelType, param: CelType): boolean {
    this.#step();
    if (type.kind !== "param") return type.params.some((inner) => this.#mentions(inner, param));
    if (type.name === param.name) return true;
    const meaning = this.#meanings.get(type.name);
    return meaning !== undefined && this.#mentions(meaning, param);
  }

  #takeBack(start: number): void {
    while (this.#undo.length > start) {
      const { param, before } = this.#undo.pop()!;
      if (before === undefined) this.#meanings.delete(param);
      else this.#meanings.set(param, before);
    }
  }
}

/** Kinds of types of which null is a value. */
const nullable: ReadonlySet<CelType["kind"]> = new Set(["opaque", "struct", "duration", "timestamp", "null"]);

/** Of two types that fit each other, the one that leaves more open; the first if neither says less. */
export function moreGeneral(a: CelType, b: CelType): CelType {
  return leavesOpen(a, b) ? a : b;
}

function leavesOpen(a: CelType, b: CelType): boolean {
  if (isDyn(a) || a.kind === "param") return true;
  if (isDyn(b) || b.kind === "param" || a.kind !== b.kind) return false;
  if (a.kind === "type") return true;
  return (
    a.name === b.name &&
    a.params.length === b.params.length &&
    a.params.every((param, i) => leavesOpen(param, b.params[i]!))
  );
}
