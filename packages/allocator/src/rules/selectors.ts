import type { DeviceAttribute, DeviceSelector } from "@dray/api/resource/v1";
import {
  type DeviceEnvironment,
  deviceEnvironment,
  type Evaluation,
  type PreparedDevice,
  type Selector,
} from "@dray/cel";
import type { DeviceRecord } from "../devices/device-record.ts";
import type { Shape } from "../devices/shapes.ts";

export type Verdict = typeof unknown | typeof matches | typeof differs | typeof fails;
export const unknown = 0;
export const matches = 1;
export const differs = 2;
export const fails = 3;

/** Most expressions whose verdicts are kept. */
const mostExpressions = 512;
/** Most shapes that are kept read: reading one again takes as long as a few evaluations, keeping it a kilobyte. */
const mostPrepared = 2048;

/** Compiled selectors are the same for all allocators. */
const environment: DeviceEnvironment = deviceEnvironment({ stored: true });
/** Shapes that are kept read. */
let prepared: Shape[] = [];

function prepare(shape: Shape): PreparedDevice {
  if (shape.prepared === undefined) {
    if (prepared.length >= mostPrepared) {
      for (const other of prepared) other.prepared = undefined;
      prepared = [];
    }
    prepared.push(shape);
    shape.prepared = environment.prepare(shape.input);
  }
  return shape.prepared;
}

/** The value of a derived attribute on a shape (gate DRADerivedAttributes), or the error in the words of upstream. */
export function derive(
  expression: string,
  shape: Shape,
): { readonly attribute: DeviceAttribute } | { readonly compile: string } | { readonly evaluate: string } {
  const compiled = environment.compileAttribute(expression);
  if (!compiled.ok) return { compile: compiled.error };
  const result = compiled.evaluate(prepare(shape));
  return result.error === undefined ? { attribute: result.attribute } : { evaluate: result.error };
}

/** One expression; what it says of a shape of device is kept there. */
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
    const compiled = environment.compile(expression);
    if (compiled.ok) this.#selector = compiled;
    else this.#compileError = `: CEL compile error: ${compiled.error}`;
  }

  of(shape: Shape): Verdict {
    if (shape.generation === this.#generation) {
      const known = shape.verdicts[this.#number];
      if (known !== undefined && known !== unknown) return known as Verdict;
    }
    return this.#judge(shape);
  }

  /** Why it fails on a shape, to go on after `selector #0`. */
  error(shape: Shape, device: string): string {
    return this.#compileError ?? ` on device ${device}: CEL runtime error: ${this.#evaluate(shape)?.error}`;
  }

  /** The parts of a device that it reads; undefined: it does not compile. */
  get reads(): Selector["reads"] | undefined {
    return this.#selector?.reads;
  }

  #evaluate(shape: Shape): Evaluation | undefined {
    this.#cache.evaluations++;
    return this.#selector?.evaluate(prepare(shape));
  }

  #judge(shape: Shape): Verdict {
    const result = this.#evaluate(shape);
    const verdict =
      result === undefined || result.error !== undefined ? fails : result.matches ? matches : differs;
    this.#keep(shape, verdict);
    this.#cache.evaluated?.(result?.cost ?? 0);
    return verdict;
  }

  #keep(shape: Shape, verdict: Verdict): void {
    // A selector of an older generation has no place there any more.
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

/** Selectors by their text, each evaluated once for each shape of device. */
export class SelectorCache {
  readonly #selectors = new Map<string, ShapeSelector>();
  /** How often selectors were evaluated on a device. */
  evaluations = 0;
  /** Called with the cost of each evaluation, after its result is kept; may throw. */
  readonly evaluated: ((cost: number) => void) | undefined;
  /** Rises when the selectors given out up to now lose their place: they answer still, but nothing is kept. */
  generation = 0;

  constructor(evaluated?: (cost: number) => void) {
    this.evaluated = evaluated;
  }

  selector(expression: string): ShapeSelector {
    let selector = this.#selectors.get(expression);
    if (selector === undefined) {
      if (this.#selectors.size >= mostExpressions) {
        this.#selectors.clear();
        this.generation++;
      }
      selector = new ShapeSelector(expression, this, this.#selectors.size);
      this.#selectors.set(expression, selector);
    }
    return selector;
  }
}

/** The selectors of a class or a request, in order. */
export interface SelectorList {
  /** Who has them, for the text of an error: `class gpu`, `claim default/c0`. */
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

/** The first selector that is not true; undefined: all are. */
export function firstUnmatched(
  lists: readonly SelectorList[],
  record: DeviceRecord,
): { readonly list: SelectorList; readonly index: number; readonly verdict: Verdict } | undefined {
  for (const list of lists) {
    for (let index = 0; index < list.selectors.length; index++) {
      const verdict = list.selectors[index]!.of(record.shape);
      if (verdict !== matches) return { list, index, verdict };
    }
  }
  return undefined;
}
