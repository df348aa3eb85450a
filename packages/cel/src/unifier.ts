import { type CelType, dynType, isDyn, isDynOrError, sameType } from "./types.ts";

/** Finds out what the type parameters of the functions in use stand for. */
export class Unifier {
  readonly #meanings = new Map<string, CelType>();
  /** What to put back when an attempt fails, latest last. */
  readonly #undo: { readonly param: string; readonly before: CelType | undefined }[] = [];

  /**
   * One type that covers both, or undefined where there is none. `dyn` covers everything; parameters take a meaning
   * on the way, and keep none if the attempt fails.
   */
  cover(a: CelType, b: CelType): CelType | undefined {
    return this.coverAll([a], [b])?.[0];
  }

  /** The same for two rows of types, with one meaning for each parameter throughout. */
  coverAll(a: readonly CelType[], b: readonly CelType[]): readonly CelType[] | undefined {
    if (a.length !== b.length) return undefined;
    const start = this.#undo.length;
    const covers: CelType[] = [];
    for (let i = 0; i < a.length; i++) {
      const cover = this.#cover(a[i]!, b[i]!);
      if (cover === undefined) {
        this.#takeBack(start);
        return undefined;
      }
      covers.push(cover);
    }
    return covers;
  }

  /** `type` with its parameters replaced by their meanings; the others stay, or become dyn. */
  replace(type: CelType, freeBecomeDyn: boolean): CelType {
    if (type.kind === "param") {
      const meaning = this.#meanings.get(type.name);
      if (meaning !== undefined) return this.replace(meaning, freeBecomeDyn);
      return freeBecomeDyn ? dynType : type;
    }
    if (type.params.length === 0) return type;
    return { ...type, params: type.params.map((param) => this.replace(param, freeBecomeDyn)) };
  }

  #cover(a: CelType, b: CelType): CelType | undefined {
    if (a.kind === "param") return this.#give(a, b);
    if (b.kind === "param") return this.#give(b, a);
    if (isDyn(a) || isDyn(b)) return isDyn(a) ? a : b;
    if (isDynOrError(a) || isDynOrError(b)) return isDynOrError(a) ? a : b;
    if (a.kind === "null") return nullable.has(b.kind) ? b : undefined;
    if (b.kind === "null") return nullable.has(a.kind) ? a : undefined;
    if (a.kind !== b.kind || a.name !== b.name) return undefined;
    if (a.kind === "type" || a.params.length === 0) return a;
    const params = this.coverAll(a.params, b.params);
    return params && { ...a, params };
  }

  /** Makes a parameter stand for what covers both `type` and its meaning so far. */
  #give(param: CelType, type: CelType): CelType | undefined {
    if (sameType(param, type)) return param;
    const before = this.#meanings.get(param.name);
    const meaning = before === undefined ? type : this.#cover(before, type);
    if (meaning === undefined) return undefined;
    if (this.#mentions(meaning, param)) return before === undefined ? undefined : meaning;
    this.#undo.push({ param: param.name, before });
    this.#meanings.set(param.name, meaning);
    return meaning;
  }

  #mentions(type: CelType, param: CelType): boolean {
    return containsParam(this.replace(type, false), this.replace(param, false));
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

function containsParam(type: CelType, param: CelType): boolean {
  if (type.kind === "param") return type.name === param.name;
  return type.params.some((inner) => containsParam(inner, param));
}
