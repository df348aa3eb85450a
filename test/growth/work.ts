import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";

/** How often each place of the source was run, by file and function. */
export type Work = ReadonlyMap<string, number>;

/**
 * Counts work instead of time: how often each block of the sources runs, and the elements that arrays' own
 * functions look at. The same input has the same count, however busy the machine is.
 */
export class WorkCounter {
  readonly #session = new Session();
  readonly #builtIn = new Map<string, number>();
  readonly #restores: (() => void)[] = [];

  private constructor() {
    this.#session.connect();
  }

  static async start(): Promise<WorkCounter> {
    const counter = new WorkCounter();
    await counter.#session.post("Profiler.enable");
    await counter.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    counter.#countBuiltIns();
    return counter;
  }

  /** Counts nothing any more, and gives the functions of arrays and objects back. */
  stop(): void {
    this.#session.disconnect();
    for (const restore of this.#restores) restore();
  }

  /** Counts the work of `run`. */
  async during(run: () => Promise<void>): Promise<Work> {
    await this.#session.post("Profiler.takePreciseCoverage");
    this.#builtIn.clear();
    await run();
    const builtIn = new Map(this.#builtIn);
    const { result } = await this.#session.post("Profiler.takePreciseCoverage");
    const work = new Map(builtIn);
    for (const { url, functions } of result) {
      if (!url.startsWith("file:") || url.includes("/test/")) continue;
      const file = fileURLToPath(url).replace(/^.*\/(?=packages\/|node_modules\/)/, "");
      for (const { functionName, ranges } of functions) {
        const [whole] = ranges;
        const count = ranges.reduce((sum, range) => sum + range.count, 0);
        if (whole === undefined || count === 0) continue;
        const name = `${file} ${functionName || `at ${whole.startOffset}`}`;
        work.set(name, (work.get(name) ?? 0) + count);
      }
    }
    return work;
  }

  /** Functions that are not written in JavaScript have no blocks. */
  #countBuiltIns(): void {
    const count = this.#builtIn;
    for (const name of countedMethods) {
      const original = Array.prototype[name] as (this: unknown[], ...values: unknown[]) => unknown;
      const key = `Array.${String(name)}`;
      this.#restores.push(() => Object.defineProperty(Array.prototype, name, { value: original }));
      Object.defineProperty(Array.prototype, name, {
        configurable: true,
        writable: true,
        value(this: unknown[], ...values: unknown[]) {
          // Elements before a change are not moved.
          const from = name === "splice" ? Math.min(Number(values[0]), this.length) : 0;
          count.set(key, (count.get(key) ?? 0) + this.length - Math.max(from, 0));
          return original.apply(this, values);
        },
      });
    }
    for (const name of ["keys", "values", "entries"] as const) {
      const original = Object[name] as (object: object) => unknown[];
      const key = `Object.${name}`;
      this.#restores.push(() => Object.assign(Object, { [name]: original }));
      Object[name] = (object: object) => {
        const found = original(object);
        count.set(key, (count.get(key) ?? 0) + found.length);
        return found as never;
      };
    }
  }
}

/** `Symbol.iterator`: spreading an array into another. */
const countedMethods = [
  "includes",
  "indexOf",
  "lastIndexOf",
  "slice",
  "splice",
  "concat",
  "join",
  "shift",
  "unshift",
  "reverse",
  "toReversed",
  "toSpliced",
  "with",
  "fill",
  "flat",
  Symbol.iterator,
] as const;
