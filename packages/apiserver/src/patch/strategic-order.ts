import { goText, goType } from "../json/go-text.ts";
import { isObject, type JsonObject, jsonEqual } from "../json/values.ts";
import { plainError } from "./errors.ts";
import { directiveOf, elementOrder } from "./strategic-directives.ts";

/** Returns the identity of an element of a merged list: its merge key, or the element itself. */
function identity(item: unknown, mergeKey: string): unknown {
  if (mergeKey === "") return item;
  if (!isObject(item)) throw plainError(`expected a map[string]interface {}, but received a ${goType(item)}`);
  return mergeKeyOf(item, mergeKey);
}

/** Returns the merge key of an element; throws 500 if it has none. */
function mergeKeyOf(item: JsonObject, mergeKey: string): unknown {
  if (Object.hasOwn(item, mergeKey)) return item[mergeKey];
  throw plainError(`map: ${goText(item)} does not contain declared merge key: ${mergeKey}`);
}

/** The indices of the elements of a list by identity: the first of equal ones. Throws StatusError. */
export class Places {
  readonly #places = new Map<string, number>();
  readonly #mergeKey: string;

  constructor(items: readonly unknown[], mergeKey: string) {
    this.#mergeKey = mergeKey;
    items.forEach((item, index) => {
      this.add(item, index);
    });
  }

  add(item: unknown, index: number): void {
    const text = identityText(identity(item, this.#mergeKey));
    if (!this.#places.has(text)) this.#places.set(text, index);
  }

  /** Returns -1 if there is no such element. */
  of(item: unknown): number {
    return this.#places.get(identityText(identity(item, this.#mergeKey))) ?? -1;
  }
}

/** Returns the same text for equal values: a bigint equals the number of the same value. */
function identityText(value: unknown): string {
  if (typeof value === "number" && Number.isInteger(value)) return String(BigInt(value));
  return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}

/** Validates that the elements of the patch are in `$setElementOrder`, in the same order. */
export function checkOrder(change: readonly unknown[], order: readonly unknown[], mergeKey: string): void {
  if (order.length === 0) return;
  // Elements to delete need no position; others with a directive need no position of their own.
  const rest = mergeKey === "" ? change : change.filter((item) => directiveOf(item) !== "delete");
  let next = 0;
  for (const place of order) {
    while (next < rest.length && directiveOf(rest[next]) !== undefined) next++;
    if (next === rest.length) return;
    if (jsonEqual(identity(rest[next], mergeKey), identity(place, mergeKey))) next++;
  }
  if (next === rest.length) return;
  throw plainError(
    `The order in patch list:\n${goText(change)}\n doesn't match ${elementOrder} list:\n${goText(order)}\n`,
  );
}

/**
 * Returns the order of the live list against which a list with `$setElementOrder` is sorted. Upstream deletes
 * from that list in place and lets the first additions fill the gap, so that elements that only the server
 * has come before them.
 */
export function orderLeftBehind(
  live: readonly unknown[],
  change: readonly unknown[],
  mergeKey: string,
): readonly unknown[] {
  const textOf = (item: unknown): string => identityText(identity(item, mergeKey));
  const left = new ElementsLeft(live, live.map(textOf));
  for (const item of change) if (directiveOf(item) === "delete") left.delete(textOf(item));
  if (!change.some((item) => directiveOf(item) === "replace")) {
    for (const item of change) {
      if (left.gaps === 0) break;
      if (directiveOf(item) === undefined) left.fill(item, textOf(item));
    }
  }
  return left.elements();
}

/**
 * A list from which elements are deleted in place: each moves the rest forward, and leaves a copy of the last
 * one behind it. Takes time for all deletions once.
 */
class ElementsLeft {
  readonly #live: readonly unknown[];
  readonly #indices = new Map<string, number[]>();
  readonly #isDeleted: boolean[];
  /** Copies behind the rest: the last element at each deletion. */
  readonly #behind: unknown[] = [];
  readonly #added: unknown[] = [];
  #last: number;

  constructor(live: readonly unknown[], texts: readonly string[]) {
    this.#live = live;
    this.#isDeleted = live.map(() => false);
    this.#last = live.length - 1;
    texts.forEach((text, index) => {
      const indices = this.#indices.get(text);
      if (indices === undefined) this.#indices.set(text, [index]);
      else indices.push(index);
    });
  }

  /** The number of places that deletions have left. */
  get gaps(): number {
    return this.#behind.length - this.#added.length;
  }

  delete(text: string): void {
    for (const index of this.#indices.get(text) ?? []) {
      this.#behind.push(this.#live[this.#last]);
      this.#isDeleted[index] = true;
      while (this.#last >= 0 && this.#isDeleted[this.#last]) this.#last--;
    }
    this.#indices.delete(text);
  }

  /** Fills the first gap, unless the list has the element. */
  fill(item: unknown, text: string): void {
    if (this.#indices.has(text)) return;
    this.#indices.set(text, []);
    this.#added.push(item);
  }

  elements(): readonly unknown[] {
    const rest = this.#live.filter((_, index) => !this.#isDeleted[index]);
    return [...rest, ...this.#added, ...this.#behind.toReversed().slice(this.#added.length)];
  }
}

/**
 * Sorts a merged list: elements in `order` have that order, elements that only the server has keep theirs;
 * both are interleaved by their positions in the live list. `key`: the merge key, "" for scalars.
 */
export function arranged(
  merged: readonly unknown[],
  order: readonly unknown[],
  live: readonly unknown[],
  key: string,
): readonly unknown[] {
  const ordered = new Places(order, key);
  const before = new Places(live, key);
  const named = merged
    .map((item) => ({ item, at: ordered.of(item) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
  const serverOnly = merged.filter((item) => ordered.of(item) < 0);
  const result: unknown[] = [];
  let next = 0;
  for (const item of serverOnly) {
    const own = before.of(item);
    while (next < named.length) {
      const other = before.of(named[next]);
      if (own >= 0 && other >= 0 && own < other) break;
      result.push(named[next++]);
    }
    result.push(item);
  }
  return [...result, ...named.slice(next)];
}
