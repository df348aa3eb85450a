import { canonicalJSON } from "@dray/api";
import { deepEqual } from "../storage/json.ts";
import { fieldOf, isPlain, itemsOf, type Schema } from "./schema.ts";

/**
 * A value and the corresponding value before the update. Unchanged values are not validated again
 * (CRDValidationRatcheting, KEP-4008).
 */
export class Correlation {
  readonly value: unknown;
  readonly old: unknown;
  readonly #schema: Schema | undefined;
  #same: boolean | undefined;

  constructor(value: unknown, old: unknown, schema: Schema | undefined) {
    this.value = value;
    this.old = old;
    this.#schema = schema;
  }

  get unchanged(): boolean {
    this.#same ??= deepEqual(this.value, this.old);
    return this.#same;
  }

  /** Undefined if the field was absent, or is not in the schema. */
  key(name: string): Correlation | undefined {
    const { value, old } = this;
    if (!isPlain(value) || !isPlain(old)) return undefined;
    if (!Object.hasOwn(value, name) || !Object.hasOwn(old, name)) return undefined;
    const schema = fieldOf(this.#schema, name);
    return schema === undefined ? undefined : new Correlation(value[name], old[name], schema);
  }

  /** Items are correlated by their keys: only in lists of type `map`. */
  index(index: number): Correlation | undefined {
    const { value, old } = this;
    const items = itemsOf(this.#schema);
    if (!Array.isArray(value) || !Array.isArray(old) || items === undefined) return undefined;
    const before = itemWithKeys(this.#schema, old, value[index]);
    return before === undefined ? undefined : new Correlation(value[index], before, items);
  }
}

/** Returns the item of a list of type `map` with the same keys; undefined in other lists. */
export function itemWithKeys(
  schema: Schema | undefined,
  list: readonly unknown[] | undefined,
  item: unknown,
): unknown {
  const keys = schema?.["x-kubernetes-list-map-keys"];
  if (schema?.["x-kubernetes-list-type"] !== "map" || keys === undefined || !isPlain(item)) return undefined;
  return list === undefined ? undefined : byKeys(list, keys).get(identity(item, keys));
}

const known = new WeakMap<
  readonly unknown[],
  { readonly keys: readonly string[]; readonly items: ReadonlyMap<string, unknown> }
>();

/** Returns the items of an immutable list by their keys; the first one wins. */
function byKeys(list: readonly unknown[], keys: readonly string[]): ReadonlyMap<string, unknown> {
  const before = known.get(list);
  if (before?.keys === keys) return before.items;
  const items = new Map(list.toReversed().map((item) => [isPlain(item) ? identity(item, keys) : "", item]));
  known.set(list, { keys, items });
  return items;
}

const identity = (item: Readonly<Record<string, unknown>>, keys: readonly string[]): string =>
  canonicalJSON(keys.map((key) => (Object.hasOwn(item, key) ? item[key] : null)));
