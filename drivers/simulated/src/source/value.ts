import { Quantity, QuantityError } from "@dray/api";
import type { TextNotes } from "@dray/api/codec";

/** A mistake in a fleet file: where, what, and what would be accepted. */
export interface FleetProblem {
  readonly file: string;
  /** From 1 on; absent where it is not known. */
  readonly line?: number;
  /** `nodes[0].drivers[1].pools[0].devices[2].count` */
  readonly path: string;
  readonly message: string;
}

/** `fleet.yaml:12: nodes[0].name: "A" must be ...` */
function problemText({ file, line, path, message }: FleetProblem): string {
  const place = line === undefined ? file : `${file}:${line}`;
  return path === "" ? `${place}: ${message}` : `${place}: ${path}: ${message}`;
}

/** Maximum number of problems that the message of an error has. */
const maxProblems = 20;

/** The fleet cannot be made as its files describe it; all that is wrong with them is in `problems`. */
export class FleetError extends Error {
  override readonly name = "FleetError";
  readonly problems: readonly FleetProblem[];

  constructor(all: readonly FleetProblem[]) {
    // A template has the same mistake for each of its nodes and devices.
    const problems = [...new Map(all.map((problem) => [problemText(problem), problem])).values()];
    const rest = problems.length - maxProblems;
    const texts = problems.slice(0, maxProblems).map(problemText);
    super([...texts, ...(rest > 0 ? [`and ${rest} more mistakes`] : [])].join("\n"));
    this.problems = problems;
  }
}

/** Origin of the values of one document. */
export interface Origin {
  readonly file: string;
  lineOf(path: string): number | undefined;
  /** Notes of the JSON parser; absent for YAML. */
  readonly notes?: TextNotes | undefined;
}

/** A value as JSON, short enough for a message. */
export function shown(value: unknown): string {
  const json = JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : each));
  const text = json ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}

/**
 * A value of a fleet file with its place. Each method reads it as one type, and throws a FleetError that
 * names the file, the path, the value and what would be accepted.
 */
export class Value {
  readonly origin: Origin;
  readonly path: string;
  readonly raw: unknown;

  constructor(origin: Origin, path: string, raw: unknown) {
    this.origin = origin;
    this.path = path;
    this.raw = raw;
  }

  problem(message: string, path = this.path): FleetProblem {
    const line = this.origin.lineOf(path);
    return { file: this.origin.file, ...(line !== undefined && { line }), path, message };
  }

  fail(message: string): never {
    throw new FleetError([this.problem(message)]);
  }

  /** Null is "not set", as everywhere in Kubernetes. */
  get isSet(): boolean {
    return this.raw !== undefined && this.raw !== null;
  }

  /** The same place with another value, as templates make it. */
  with(raw: unknown): Value {
    return new Value(this.origin, this.path, raw);
  }

  at(key: string): Value {
    const plain = /^[A-Za-z_][\w-]*$/.test(key);
    const path = plain ? (this.path === "" ? key : `${this.path}.${key}`) : `${this.path}[${key}]`;
    const own = this.raw as Readonly<Record<string, unknown>>;
    return new Value(this.origin, path, Object.hasOwn(own, key) ? own[key] : undefined);
  }

  /** An object with no fields but these; of others the message says which are known. */
  fields<F extends string>(known: readonly F[]): Record<F, Value> {
    const object = this.object();
    for (const key of Object.keys(object))
      if (!known.includes(key as F)) {
        const accepted = [...known].sort().join(", ");
        throw new FleetError([this.problem(`unknown field; known are ${accepted}`, this.at(key).path)]);
      }
    return Object.fromEntries(known.map((key) => [key, this.at(key)])) as Record<F, Value>;
  }

  object(): Readonly<Record<string, unknown>> {
    if (typeof this.raw !== "object" || this.raw === null || Array.isArray(this.raw))
      this.fail(`${shown(this.raw)} must be an object`);
    return this.raw as Readonly<Record<string, unknown>>;
  }

  /**
   * Reads each value of an object with `read`; an absent object is empty. All mistakes are reported together.
   */
  map<T>(read: (value: Value, key: string) => T): Record<string, T> {
    if (!this.isSet) return {};
    const entries = collect(Object.keys(this.object()), (key) => [key, read(this.at(key), key)] as const);
    return Object.fromEntries(entries);
  }

  /** Calls `read` for each value of an object. All mistakes are reported together. */
  forEntries(read: (value: Value, key: string) => void): void {
    this.map(read);
  }

  /** Reads each item with `read`; an absent list is empty. All mistakes are reported together. */
  list<T>(read: (value: Value, index: number) => T): T[] {
    if (!this.isSet) return [];
    if (!Array.isArray(this.raw)) this.fail(`${shown(this.raw)} must be a list`);
    const items = (this.raw as readonly unknown[]).map(
      (item, index) => new Value(this.origin, `${this.path}[${index}]`, item),
    );
    return collect(items, read);
  }

  optional<T>(read: (value: Value) => T): T | undefined {
    return this.isSet ? read(this) : undefined;
  }

  /** A string that is not empty. */
  text(accepted = "a text that is not empty"): string {
    if (typeof this.raw !== "string" || this.raw === "") this.fail(`${shown(this.raw)} must be ${accepted}`);
    return this.raw as string;
  }

  /** Returns the text, which may be empty, as the value of a label may be. */
  anyText(): string {
    if (typeof this.raw !== "string")
      this.fail(`${shown(this.raw)} must be a text: put it in quotes if it looks like something else`);
    return this.raw as string;
  }

  boolean(): boolean {
    if (typeof this.raw !== "boolean") this.fail(`${shown(this.raw)} must be true or false`);
    return this.raw as boolean;
  }

  /** A whole number, as such or as the text that a template gives. */
  integer(lowest: number, highest: number): number {
    const { raw } = this;
    const number = typeof raw === "string" && /^-?\d+$/.test(raw) ? Number(raw) : raw;
    if (typeof number !== "number" || !Number.isInteger(number) || number < lowest || number > highest)
      this.fail(`${shown(raw)} must be a whole number from ${lowest} to ${highest}`);
    return number as number;
  }

  /** Milliseconds of `500ms`, `30s`, `2m`, `1h`; 0 or more. */
  duration(): number {
    const accepted = "must be a duration such as 500ms, 30s, 2m or 1h30m";
    if (this.raw === 0) return 0;
    if (typeof this.raw !== "string") this.fail(`${shown(this.raw)} ${accepted}`);
    const text = this.raw as string;
    const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
    if (parts.length === 0 || parts.map(([part]) => part).join("") !== text)
      this.fail(`${shown(text)} ${accepted}`);
    const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
    return parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units], 0);
  }

  /** A quantity, as a text or a number; returned as a text. */
  quantity(): string {
    const { raw } = this;
    const text = typeof raw === "number" || typeof raw === "bigint" ? String(raw) : raw;
    if (typeof text !== "string") this.fail(`${shown(raw)} must be a quantity such as 80Gi or 100`);
    try {
      Quantity.parse(text as string);
    } catch (error) {
      if (!(error instanceof QuantityError)) throw error;
      this.fail(`${shown(raw)} must be a quantity such as 80Gi or 100: ${error.message}`);
    }
    return text as string;
  }

  oneOf<T extends string>(accepted: readonly T[]): T {
    if (!accepted.includes(this.raw as T))
      this.fail(`${shown(this.raw)} is not supported, supported are ${accepted.map(shown).join(", ")}`);
    return this.raw as T;
  }
}

/** Reads all items with `read`; throws one FleetError with the problems of all that failed. */
export function collect<I, T>(items: readonly I[], read: (item: I, index: number) => T): T[] {
  const problems: FleetProblem[] = [];
  const results: T[] = [];
  for (const [index, item] of items.entries()) {
    try {
      results.push(read(item, index));
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      for (const problem of error.problems) problems.push(problem);
    }
  }
  if (problems.length > 0) throw new FleetError(problems);
  return results;
}
