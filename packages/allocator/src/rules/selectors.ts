import type { DeviceAttribute, DeviceSelector } from "@dray/api/resource/v1";
import type { DeviceEnvironment, Evaluation, PreparedDevice, Selector } from "@dray/cel";
import type { DeviceRecord } from "../devices/device-record.ts";
import type { Shape } from "../devices/shapes.ts";

/** The result of a selector on a shape of device. */
export type Verdict = typeof unknown | typeof matches | typeof differs | typeof fails;
export const unknown = 0;
export const matches = 1;
export const differs = 2;
export const fails = 3;

/** Maximum number of expressions whose verdicts are cached. */
const maxExpressions = 512;
/**
 * Maximum number of shapes kept prepared: preparing one costs as much as a few evaluations, keeping it a
 * kilobyte.
 */
const maxPreparedShapes = 2048;

/** One expression. Its verdicts are stored in the shapes. */
export class ShapeSelector {
  readonly expression: string;
  readonly #selector: Selector | undefined;
  readonly #compileError: string | undefined;
  readonly #number: number;
  readonly #generation: number;
  readonly #cache: SelectorCache;

  constructor(expression: string, cache: SelectorCache, number: number) {
    this.expression = expression;
    this.#number = number;
    this.#cache = cache;
    this.#generation = cache.generation;
    const compiled = cache.environment.compile(expression);
    if (compiled.ok) this.#selector = compiled;
    else this.#compileError = `: CEL compile error: ${compiled.error}`;
  }

  verdict(shape: Shape): Verdict {
    if (shape.generation === this.#generation) {
      const cached = shape.verdicts[this.#number];
      if (cached !== undefined && cached !== unknown) return cached as Verdict;
    }
    return this.#evaluateAndStore(shape);
  }

  /** Returns the reason of a failure on a shape, as the continuation of `selector #0`. */
  error(shape: Shape, device: string): string {
    return this.#compileError ?? ` on device ${device}: CEL runtime error: ${this.#evaluate(shape)?.error}`;
  }

  /** The parts of a device that it reads; undefined if it does not compile. */
  get reads(): Selector["reads"] | undefined {
    return this.#selector?.reads;
  }

  #evaluate(shape: Shape): Evaluation | undefined {
    this.#cache.evaluations++;
    return this.#selector?.evaluate(this.#cache.prepare(shape));
  }

  #evaluateAndStore(shape: Shape): Verdict {
    const result = this.#evaluate(shape);
    const verdict =
      result === undefined || result.error !== undefined ? fails : result.matches ? matches : differs;
    this.#store(shape, verdict);
    this.#cache.evaluated?.(result?.cost ?? 0);
    return verdict;
  }

  #store(shape: Shape, verdict: Verdict): void {
    // An older generation's number may belong to another selector now.
    if (this.#generation < shape.generation) return;
    if (this.#generation > shape.generation || this.#number >= shape.verdicts.length) {
      const larger = new Uint8Array(this.#number + 4);
      if (this.#generation === shape.generation) larger.set(shape.verdicts);
      shape.verdicts = larger;
      shape.generation = this.#generation;
    }
    shape.verdicts[this.#number] = verdict;
  }
}

/** Selectors by their expression, each evaluated once per shape of device. */
export class SelectorCache {
  readonly environment: DeviceEnvironment;
  readonly #selectors = new Map<string, ShapeSelector>();
  #prepared: Shape[] = [];
  /** Number of evaluations so far. */
  evaluations = 0;
  /** Called with the cost of each evaluation, after its verdict is stored; may throw. */
  readonly evaluated: ((cost: number) => void) | undefined;
  /**
   * Incremented when the cache is cleared: selectors handed out before still work, but no longer store
   * verdicts.
   */
  generation = 0;

  constructor(environment: DeviceEnvironment, evaluated?: (cost: number) => void) {
    this.environment = environment;
    this.evaluated = evaluated;
  }

  selector(expression: string): ShapeSelector {
    let selector = this.#selectors.get(expression);
    if (selector === undefined) {
      if (this.#selectors.size >= maxExpressions) {
        this.#selectors.clear();
        this.generation++;
      }
      selector = new ShapeSelector(expression, this, this.#selectors.size);
      this.#selectors.set(expression, selector);
    }
    return selector;
  }

  prepare(shape: Shape): PreparedDevice {
    if (shape.prepared === undefined) {
      if (this.#prepared.length >= maxPreparedShapes) {
        for (const other of this.#prepared) other.prepared = undefined;
        this.#prepared = [];
      }
      this.#prepared.push(shape);
      shape.prepared = this.environment.prepare(shape.input);
    }
    return shape.prepared;
  }

  /** Returns the value of a derived attribute on a shape (KEP-6080), or the error in upstream's words. */
  derive(
    expression: string,
    shape: Shape,
  ):
    | { readonly attribute: DeviceAttribute }
    | { readonly compileError: string }
    | { readonly runtimeError: string } {
    const compiled = this.environment.compileAttribute(expression);
    if (!compiled.ok) return { compileError: compiled.error };
    const result = compiled.evaluate(this.prepare(shape));
    return result.error === undefined ? { attribute: result.attribute } : { runtimeError: result.error };
  }
}

/** The selectors of a class or a request, in order. */
export interface SelectorList {
  /** For error messages: `class gpu`, `claim default/c0`. */
  readonly owner: string;
  readonly selectors: readonly ShapeSelector[];
}

export function selectorList(
  owner: string,
  selectors: readonly DeviceSelector[],
  cache: SelectorCache,
): SelectorList {
  return { owner, selectors: selectors.map(({ cel }) => cache.selector(cel?.expression ?? "")) };
}

/** Returns the first selector that is not true; undefined if all are. */
export function firstUnmatched(
  lists: readonly SelectorList[],
  record: DeviceRecord,
): { readonly list: SelectorList; readonly index: number; readonly verdict: Verdict } | undefined {
  for (const list of lists) {
    for (let index = 0; index < list.selectors.length; index++) {
      const verdict = list.selectors[index]!.verdict(record.shape);
      if (verdict !== matches) return { list, index, verdict };
    }
  }
  return undefined;
}
