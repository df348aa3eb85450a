import { DurationError, parseDuration } from "@dray/api";
import type { FieldErrors } from "@dray/api/validation";

const nanosecondsPerMillisecond = 1_000_000;
const minInt32 = -(2 ** 31);
const maxInt32 = 2 ** 31 - 1;

/**
 * One object of a configuration file. Each field that is asked for is a known one; `end` reports the others.
 * A field of a wrong type is reported and read as absent.
 */
export class Fields {
  /** Reports at the place of the object. */
  readonly errors: FieldErrors;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #known = new Set<string>();

  constructor(values: Readonly<Record<string, unknown>>, errors: FieldErrors) {
    this.errors = errors;
    this.#values = values;
  }

  has(name: string): boolean {
    return (this.#values[name] ?? undefined) !== undefined;
  }

  string(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === "string") return value;
    this.errors.at(name).invalid(value, "must be a string");
    return undefined;
  }

  /** A string, with an error for others than these. */
  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.string(name);
    if (value === undefined || choices.includes(value as T)) return value as T | undefined;
    this.errors.at(name).notSupported(value, choices);
    return undefined;
  }

  boolean(name: string): boolean | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === "boolean") return value;
    this.errors.at(name).invalid(value, "must be true or false");
    return undefined;
  }

  integer(name: string): number | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= minInt32 && value <= maxInt32)
      return value;
    this.errors.at(name).invalid(value, "must be a whole number of 32 bits");
    return undefined;
  }

  number(name: string): number | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === "number") return value;
    this.errors.at(name).invalid(value, "must be a number");
    return undefined;
  }

  /** Milliseconds of a text like `1m30s`. */
  duration(name: string): number | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (typeof value !== "string") {
      this.errors.at(name).invalid(value, 'must be a duration such as "10s" or "1m30s"');
      return undefined;
    }
    try {
      return Number(parseDuration(value)) / nanosecondsPerMillisecond;
    } catch (error) {
      if (!(error instanceof DurationError)) throw error;
      this.errors.at(name).invalid(value, `must be a duration such as "10s": ${error.message}`);
      return undefined;
    }
  }

  object(name: string): Fields | undefined {
    const value = this.#value(name);
    return value === undefined ? undefined : asFields(value, this.errors.at(name));
  }

  /** The objects of a list; undefined if it is absent. */
  objects(name: string): readonly Fields[] | undefined {
    return this.#list(name)?.flatMap((item, i) => {
      const fields = asFields(item, this.errors.at(name).index(i));
      return fields === undefined ? [] : [fields];
    });
  }

  strings(name: string): readonly string[] | undefined {
    return this.#list(name)?.flatMap((item, i) => {
      if (typeof item === "string") return [item];
      this.errors.at(name).index(i).invalid(item, "must be a string");
      return [];
    });
  }

  /** A map of strings. */
  labels(name: string): Readonly<Record<string, string>> | undefined {
    const fields = this.object(name);
    if (fields === undefined) return undefined;
    return Object.fromEntries(
      Object.keys(fields.#values).map((key) => [key, fields.string(key) ?? ""] as const),
    );
  }

  /** Reports fields that were not asked for. */
  end(): void {
    for (const name of Object.keys(this.#values)) {
      if (this.#known.has(name)) continue;
      const known = [...this.#known].sort().join(", ");
      this.errors.at(name).forbidden(`unknown field; fields are ${known}`);
    }
  }

  #value(name: string): unknown {
    this.#known.add(name);
    return Object.hasOwn(this.#values, name) ? (this.#values[name] ?? undefined) : undefined;
  }

  #list(name: string): readonly unknown[] | undefined {
    const value = this.#value(name);
    if (value === undefined || Array.isArray(value)) return value as unknown[] | undefined;
    this.errors.at(name).invalid(value, "must be a list");
    return undefined;
  }
}

export function asFields(value: unknown, errors: FieldErrors): Fields | undefined {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return new Fields(value as Record<string, unknown>, errors);
  errors.invalid(value, "must be an object");
  return undefined;
}
