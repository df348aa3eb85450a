import {
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  Pair,
  Scalar,
  YAMLMap,
  YAMLSeq,
} from "yaml";

/** Input for new nodes: plain data, which may contain existing nodes. */
export type Plain =
  | string
  | number
  | boolean
  | readonly Plain[]
  | { readonly [key: string]: Plain | Node }
  | Node;

/** Returns the value as a map; undefined for any other value. */
export const mapOf = (node: unknown): YAMLMap | undefined => (isMap(node) ? node : undefined);

/** Returns the items of a list; an empty list for any other value. */
export const itemsOf = (node: unknown): readonly unknown[] => (isSeq(node) ? node.items : []);

/** Returns the text of a scalar, quoted or not; undefined for any other value, and for null. */
export function textOf(node: unknown): string | undefined {
  if (!isScalar(node)) return undefined;
  const text = String(node.value ?? "");
  return node.type === Scalar.PLAIN && ["", "null", "Null", "NULL", "~"].includes(text) ? undefined : text;
}

export const keyOf = (pair: Pair): string => textOf(pair.key) ?? "";

export const pairOf = (map: YAMLMap | undefined, key: string): Pair | undefined =>
  map?.items.find((pair) => keyOf(pair) === key);

/** Returns the value of a key; several keys lead through nested maps. */
export function fieldOf(node: unknown, ...keys: readonly string[]): unknown {
  let value = node;
  for (const key of keys) value = pairOf(mapOf(value), key)?.value;
  return value;
}

/** Removes a key from a map; returns its pair. */
export function take(map: YAMLMap, key: string): Pair | undefined {
  const index = map.items.findIndex((pair) => keyOf(pair) === key);
  if (index === -1) return undefined;
  const [pair] = map.items.splice(index, 1);
  const next = map.items[index];
  // A comment above the removed pair belongs to it; the one above the first pair belongs to the map.
  if (index === 0 && next !== undefined && isScalar(next.key)) next.key.spaceBefore = false;
  return pair;
}

/** Sets a key; a new one comes after `after`, or last. */
export function put(map: YAMLMap, key: string, value: unknown, after?: string): void {
  const known = pairOf(map, key);
  if (known !== undefined) {
    known.value = value;
    return;
  }
  const at = after === undefined ? -1 : map.items.findIndex((pair) => keyOf(pair) === after);
  map.items.splice(at === -1 ? map.items.length : at + 1, 0, new Pair(scalar(key), value));
}

/** Replaces the text of a scalar; keeps comments and quotes. */
export function setText(node: unknown, text: string): void {
  if (isScalar(node)) node.value = text;
}

/** Words that some YAML reader does not read as a string. */
const notTexts = /^(?:|~|null|true|false|yes|no|on|off|y|n|[-+.\d].*|0[xo].*)$/i;

function scalar(value: string | number | boolean): Scalar {
  const made = new Scalar(String(value));
  if (typeof value !== "string") made.type = Scalar.PLAIN;
  else if (/^[A-Za-z0-9_/][\w./-]*$/.test(value) && !notTexts.test(value)) made.type = Scalar.PLAIN;
  else made.type = value.includes("'") || value.includes("\n") ? Scalar.QUOTE_DOUBLE : Scalar.QUOTE_SINGLE;
  return made;
}

/** Converts plain data to nodes. */
export function nodeOf(value: Plain): Node {
  if (typeof value !== "object") return scalar(value);
  if (isNode(value)) return value;
  if (Array.isArray(value)) {
    const list = new YAMLSeq();
    list.items = value.map((item: Plain) => nodeOf(item));
    return list;
  }
  const map = new YAMLMap();
  map.items = Object.entries(value).map(([key, item]) => new Pair(scalar(key), nodeOf(item)));
  return map;
}

/** Reports whether a node contains an alias. */
export function hasAlias(node: unknown): boolean {
  if (isAlias(node)) return true;
  if (isPair(node)) return hasAlias(node.key) || hasAlias(node.value);
  return isCollection(node) && node.items.some(hasAlias);
}
