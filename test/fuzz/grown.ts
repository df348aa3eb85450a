import type { Random } from "@dray/testing/random";

/** How a list or map of an object is made long; the same way for all requests of a scenario. */
export interface Growth {
  /** The keys on the way to the list or map. */
  readonly path: readonly string[];
  readonly count: number;
  /** The field of an element that differs from one to the next; undefined: all are the same. */
  readonly differs: string | undefined;
}

/** Bytes of a body. */
const most = 700_000;

type Tree = { readonly [key: string]: unknown };

const isTree = (value: unknown): value is Tree => typeof value === "object" && value !== null;

/** All lists and maps of texts in an object that hold something. */
function places(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (!isTree(value)) return [];
  const below = Object.entries(value).flatMap(([key, item]) => places(item, [...path, key]));
  return canGrow(value) ? [path, ...below] : below;
}

function canGrow(value: Tree): boolean {
  const items = Object.values(value);
  return items.length > 0 && (Array.isArray(value) || items.every((item) => typeof item === "string"));
}

/**
 * One or two: what is looked for in another list takes the product of both. None where there is nothing to
 * grow.
 */
export function growthsOf(random: Random, body: unknown): readonly Growth[] {
  const all = places(body).filter((path) => path.length > 0);
  if (all.length === 0) return [];
  return Array.from({ length: random.pick([1, 2]) }, () => growthOf(random, body, random.pick(all)));
}

function growthOf(random: Random, body: unknown, path: readonly string[]): Growth {
  const list = at(body, path);
  const element = Array.isArray(list) ? list.at(-1) : undefined;
  const fields = isTree(element) ? Object.keys(element) : [];
  const named = fields.find((name) => /^(?:name|key|uid|path|ip|device|request)$/i.test(name));
  return {
    path,
    count: random.pick([500, 2000, 8000]),
    differs: random.chance(0.2) ? undefined : (named ?? fields[random.below(fields.length)] ?? ""),
  };
}

const at = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((from, key) => (isTree(from) ? from[key] : undefined), value);

/** The object with the lists or maps grown; `turn` tells one growth of the same object from another. */
export function grown(body: unknown, growths: readonly Growth[], turn: number): unknown {
  return growths.reduce((from, growth) => grownOnce(from, growth, turn, most / growths.length), body);
}

function grownOnce(body: unknown, growth: Growth, turn: number, bytes: number): unknown {
  const { path, differs } = growth;
  const copy: unknown = structuredClone(body);
  const parent = at(copy, path.slice(0, -1)) as Record<string, unknown> | undefined;
  const found = parent?.[path.at(-1)!];
  if (!isTree(found) || !canGrow(found)) return body;
  const last = Object.entries(found).at(-1)!;
  const count = Math.min(growth.count, Math.floor(bytes / (JSON.stringify(last).length + 8)));
  const added = Array.from({ length: count }, (_, index) => {
    const number = index + (turn % 2) * Math.floor(index / 3);
    return Array.isArray(found) ? varied(last[1], differs, number) : [`${last[0]}${number}`, `${last[1]}`];
  });
  parent![path.at(-1)!] = Array.isArray(found)
    ? [...found, ...added]
    : { ...found, ...Object.fromEntries(added as [string, string][]) };
  return copy;
}

function varied(element: unknown, differs: string | undefined, number: number): unknown {
  if (differs === undefined) return element;
  if (isTree(element) && !Array.isArray(element)) {
    return { ...element, [differs]: varied(element[differs], "", number) };
  }
  if (typeof element === "number") return element + number;
  return typeof element === "string" ? `${element}${number}` : element;
}
