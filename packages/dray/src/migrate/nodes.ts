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

/** Input for new nodes: plain data, with nodes in it that are there already. */
export type Plain =
  | string
  | number
  | boolean
  | readonly Plain[]
  | { readonly [key: string]: Plain | Node }
  | Node;

/** The map that a value is; undefined for anything else. */
export const mapOf = (node: unknown): YAMLMap | undefined => (isMap(node) ? node : undefined);

/** The items of a list; none for anything else. */
export const itemsOf = (node: unknown): readonly unknown[] => (isSeq(node) ? node.items : []);

/** The text of a scalar, quoted or not; undefined for anything else, and for null. */
export function textOf(node: unknown): string | undefined {
  if (!isScalar(node)) return undefined;
  const text = String(node.value ?? "");
  return node.type === Scalar.PLAIN && ["", "null", "Null", "NULL", "~"].includes(text) ? undefined : text;
}

export const keyOf = (pair: Pair): string => textOf(pair.key) ?? "";

export const pairOf = (map: YAMLMap | undefined, key: string): Pair | undefined =>
  map?.items.find((pair) => keyOf(pair) === key);

/** The value of a key; a chain of keys leads through maps. */
export function fieldOf(node: unknown, ...keys: readonly string[]): unknown {
  let value = node;
  for (const key of keys) value = pairOf(mapOf(value), key)?.value;
  return value;
}

/** Takes a key out of a map; returns what it had. */
export function take(map: YAMLMap, key: string): Pair | undefined {
  const index = map.items.findIndex((pair) => keyOf(pair) === key);
  if (index === -1) return undefined;
  const [pair] = map.items.splice(index, 1);
  const next = map.items[index];
  // A comment above the pair that is gone belongs to it; the one above the first pair of a map is the map's.
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

/** Replaces the text of a scalar; comments and quotes stay. */
export function setText(node: unknown, text: string): void {
  if (isScalar(node)) node.value = text;
}

/** Words that some reader of YAML takes for something else than a text. */
const notTexts = /^(?:|~|null|true|false|yes|no|on|off|y|n|[-+.\d].*|0[xo].*)$/i;

function scalar(value: string | number | boolean): Scalar {
  const made = new Scalar(String(value));
  if (typeof value !== "string") made.type = Scalar.PLAIN;
  else if (/^[A-Za-z0-9_/][\w./-]*$/.test(value) && !notTexts.test(value)) made.type = Scalar.PLAIN;
  else made.type = value.includes("'") || value.includes("\n") ? Scalar.QUOTE_DOUBLE : Scalar.QUOTE_SINGLE;
  return made;
}

/** Nodes of plain data. */
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

/** Whether something in a node is an alias. */
export function hasAlias(node: unknown): boolean {
  if (isAlias(node)) return true;
  if (isPair(node)) return hasAlias(node.key) || hasAlias(node.value);
  return isCollection(node) && node.items.some(hasAlias);
}
