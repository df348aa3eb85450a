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
  const order = [...live];
  let length = order.length;
  const textOf = (item: unknown): string => identityText(identity(item, mergeKey));
  const texts = order.map((item) => textOf(item));
  const placeOf = (item: unknown): number => {
    const at = texts.indexOf(textOf(item));
    return at < length ? at : -1;
  };
  for (const item of change) {
    if (directiveOf(item) !== "delete") continue;
    for (let at = placeOf(item); at >= 0; at = placeOf(item)) {
      order.copyWithin(at, at + 1, length);
      texts.copyWithin(at, at + 1, length);
      length--;
    }
  }
  if (change.some((item) => directiveOf(item) === "replace")) return order;
  for (const item of change) {
    if (length === live.length) break;
    if (directiveOf(item) !== undefined || placeOf(item) >= 0) continue;
    order[length] = item;
    texts[length++] = textOf(item);
  }
  return order;
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
