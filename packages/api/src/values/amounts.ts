import { Quantity } from "./quantity.ts";

/** Quantities by resource name, as quotas count them. Values are never changed in place. */
export type Amounts = Map<string, Quantity>;

export const one: Quantity = Quantity.of(1);
export const zero: Quantity = Quantity.of(0);

/** Reads a list of the API; absent is empty. */
export function amountsOf(list: Readonly<Record<string, string>> | undefined): Amounts {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, Quantity.parse(text)]));
}

/** The list as the API writes it. */
export function listOf(amounts: Amounts): Record<string, string> {
  return Object.fromEntries([...amounts].map(([name, quantity]) => [name, quantity.toString()]));
}

/** Adds the amounts in `more` to `sum`. */
export function addTo(sum: Amounts, more: Amounts): void {
  for (const [name, quantity] of more) {
    const before = sum.get(name);
    sum.set(name, before === undefined ? quantity : before.add(quantity));
  }
}

/** Sets each amount in `max` to the one in `other` if that is larger. */
export function raiseTo(max: Amounts, other: Amounts): void {
  for (const [name, quantity] of other) {
    const before = max.get(name);
    if (before === undefined || quantity.compare(before) > 0) max.set(name, quantity);
  }
}

/** The increases from `before` to `after`. A decrease counts as nothing: only a controller gives back. */
export function growth(after: Amounts, before: Amounts): Amounts {
  const more: Amounts = new Map();
  for (const [name, quantity] of after) {
    const difference = quantity.sub(before.get(name) ?? zero);
    if (difference.sign > 0) more.set(name, difference);
  }
  return more;
}

/** The part of `amounts` whose names are in `names`. */
export function only(amounts: Amounts, names: Iterable<string>): Amounts {
  const part: Amounts = new Map();
  for (const name of names) {
    const quantity = amounts.get(name);
    if (quantity !== undefined) part.set(name, quantity);
  }
  return part;
}

/** `cpu=1,memory=1Gi`, sorted by name, as messages about quotas write it. */
export function textOf(amounts: Amounts): string {
  return [...amounts.keys()]
    .sort()
    .map((name) => `${name}=${amounts.get(name)}`)
    .join(",");
}
