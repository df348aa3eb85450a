import { quoted } from "@dray/api";
import { isNumeric, isObject, type JsonObject } from "../json/values.ts";
import type { ListSchema } from "./type-schema.ts";

/**
 * One step of a field's path, in the encoding of FieldsV1: `f:name` a field, `k:{"name":"a"}` the list
 * element with these keys, `v:"x"` the element of a set, `i:3` an index. Keys are sorted and the JSON has
 * Go's escapes, so that equal steps are equal texts.
 */
export type PathElement = string;

/** An element without keys, so that its list cannot be merged. */
export class UnkeyedElementError extends Error {
  override readonly name = "UnkeyedElementError";
}

/** Returns the path element of one item of a set or a keyed list. Throws UnkeyedElementError. */
export function listElement(list: ListSchema, item: unknown): PathElement {
  if (list.relation === "set" || list.keys === undefined) return setElement(item);
  if (item === null) throw new UnkeyedElementError("associative list with keys may not have a null element");
  if (!isObject(item))
    throw new UnkeyedElementError("associative list with keys may not have non-map elements");
  let text = "";
  for (const key of list.keys) {
    const value = Object.hasOwn(item, key) ? item[key] : list.element.map?.fields?.get(key)?.default;
    if (value !== undefined) text += `${text === "" ? "k:{" : ","}${goJson(key)}:${goJson(value)}`;
  }
  if (text === "") {
    const keys = list.keys.map((key) => quoted(key)).join(" ");
    throw new UnkeyedElementError(
      `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`,
    );
  }
  return `${text}}`;
}

/**
 * Returns the items of a list by their path elements: several for a duplicate. Throws UnkeyedElementError.
 */
export function itemsByElement(list: ListSchema, items: readonly unknown[]): Map<PathElement, unknown[]> {
  const found = new Map<PathElement, unknown[]>();
  for (const item of items) {
    const element = listElement(list, item);
    const known = found.get(element);
    if (known === undefined) found.set(element, [item]);
    else known.push(item);
  }
  return found;
}

function setElement(item: unknown): PathElement {
  if (item === null) {
    throw new UnkeyedElementError("associative list without keys has an element that's an explicit null");
  }
  if (Array.isArray(item)) {
    throw new UnkeyedElementError("not supported: associative list with lists as elements");
  }
  if (typeof item === "object") {
    throw new UnkeyedElementError("associative list without keys has an element that's a map type");
  }
  return `v:${goJson(item)}`;
}

const plain = /^[\w ./:@+=,;()-]*$/;

/** Encodes JSON as Go: `<`, `>`, `&` and the line separators are escaped. */
function goJson(value: unknown): string {
  if (typeof value === "string" && plain.test(value)) return `"${value}"`;
  if (typeof value === "bigint") return value.toString();
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Elements with one key or value of plain text: the vast majority, canonical already. */
const plainElement = /^(k:\{"\w+":"[\w ./:@+=,;()-]*"\}|v:"[\w ./:@+=,;()-]*")$/;

/** Returns the element in canonical text; throws an Error if it is malformed. */
export function canonicalElement(element: string): PathElement {
  if (element[1] !== ":") throw new Error(`missing colon: ${element}`);
  if (element[0] !== "f" && plainElement.test(element)) return element;
  const content = element.slice(2);
  switch (element[0]) {
    case "f":
      return element;
    case "v":
      return `v:${goJson(JSON.parse(content))}`;
    case "k": {
      const keys: unknown = JSON.parse(content);
      if (!isObject(keys)) throw new Error(`not the keys of a list element: ${element}`);
      const fields = Object.keys(keys).sort();
      return `k:{${fields.map((key) => `${goJson(key)}:${goJson(keys[key])}`).join(",")}}`;
    }
    case "i":
      if (!/^[+-]?\d+$/.test(content)) throw new Error(`not a place in a list: ${element}`);
      return `i:${Number(content)}`;
    default:
      throw new Error("unknown path element type");
  }
}

/** Formats an element for messages: `.name`, `[name="a",port=80]`, `[="x"]`, `[3]`. */
export function elementText(element: PathElement): string {
  const content = element.slice(2);
  switch (element[0]) {
    case "f":
      return `.${content}`;
    case "k": {
      const keys = JSON.parse(content) as JsonObject;
      return `[${Object.keys(keys)
        .map((key) => `${key}=${valueText(keys[key])}`)
        .join(",")}]`;
    }
    case "v":
      return `[=${valueText(JSON.parse(content))}]`;
    default:
      return `[${content}]`;
  }
}

/** Formats a value as structured-merge-diff; only wrong keys are lists or objects. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(",")}]`;
  if (!isObject(value)) return typeof value === "string" ? quoted(value) : String(value);
  return Object.keys(value)
    .sort()
    .map((key) => `${key}=${valueText(value[key])}`)
    .join("");
}

/** The text before the value in plain elements. */
const plainStart = /^(?:v:"|k:\{"\w+":")/;

const rank: Readonly<Record<string, number>> = { f: 0, k: 1, v: 2, i: 3 };

/**
 * Sorts elements in Kubernetes' order: fields by name, then keys, values (numbers before strings) and
 * indices.
 */
export function sortElements(elements: PathElement[]): PathElement[] {
  let ordered = true;
  for (let i = 1; i < elements.length && ordered; i++) {
    ordered = fieldsInOrder(elements[i - 1] as string, elements[i] as string);
  }
  if (ordered) return elements;
  if (elements.every((element) => element[0] === "f")) return elements.sort();
  const start = plainStart.exec(elements[0] as string)?.[0];
  if (start !== undefined && elements.every((each) => each.startsWith(start) && plainElement.test(each))) {
    // The texts sort like the values, except for their ends: a quote sorts after a blank.
    if (elements.every((element) => !element.includes(" "))) return elements.sort();
    const end = start.startsWith("v") ? '"' : '"}';
    const texts = elements.map((element) => element.slice(0, -end.length)).sort();
    return texts.map((text) => text + end);
  }
  const decoded = new Map(elements.map((element) => [element, decode(element)]));
  return elements.sort((a, b) => compareDecoded(a, b, decoded));
}

function fieldsInOrder(a: PathElement, b: PathElement): boolean {
  return a[0] === "f" && (b[0] !== "f" || a <= b);
}

function decode(element: PathElement): unknown {
  return element[0] === "f" ? undefined : JSON.parse(element.slice(2));
}

function compareDecoded(a: PathElement, b: PathElement, decoded: ReadonlyMap<string, unknown>): number {
  if (a[0] !== b[0]) return (rank[a[0] ?? ""] ?? 4) - (rank[b[0] ?? ""] ?? 4);
  if (a[0] === "f") return a < b ? -1 : a > b ? 1 : 0;
  if (a[0] !== "k") return compareValues(decoded.get(a), decoded.get(b));
  const left = Object.entries(decoded.get(a) as JsonObject);
  const right = Object.entries(decoded.get(b) as JsonObject);
  for (let i = 0; i < left.length && i < right.length; i++) {
    const [leftName, leftValue] = left[i] as [string, unknown];
    const [rightName, rightValue] = right[i] as [string, unknown];
    if (leftName !== rightName) return leftName < rightName ? -1 : 1;
    const order = compareValues(leftValue, rightValue);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** Numbers, then strings, then booleans. */
function compareValues(left: unknown, right: unknown): number {
  const sort = (value: unknown): number => (isNumeric(value) ? 0 : typeof value === "string" ? 1 : 2);
  if (sort(left) !== sort(right)) return sort(left) - sort(right);
  const a = left as number;
  const b = right as number;
  return a < b ? -1 : a > b ? 1 : 0;
}
