import type { Random } from "@dray/testing/random";

/** Values that are at the edge of something, or of the wrong type, or have meant trouble before. */
const edges: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  Number.MAX_VALUE,
  0.5,
  "",
  " ",
  "a",
  "x".repeat(300),
  "é\u0000\uffff\ud800",
  "😀",
  "__proto__",
  "constructor",
  "2020-01-01T00:00:00Z",
  "0001-01-01T00:00:00Z",
  "9999999999999999999999",
  "1e999999999",
  "1Ki",
  "-0",
  "../..",
  "%s%n",
  "a/b/c",
  "(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((",
  [],
  {},
  [[]],
  [null],
  { "": null },
  { a: { b: { c: {} } } },
];

/**
 * A copy of a tree with a few things in it changed. Strings that occur elsewhere in it are among what is put
 * in.
 */
export function mutated(random: Random, tree: unknown, changes = 1 + random.below(3)): unknown {
  let result = structuredClone(tree);
  for (let change = 0; change < changes; change++) result = once(random, result, leaves(tree));
  return result;
}

function leaves(tree: unknown): unknown[] {
  if (typeof tree !== "object" || tree === null) return [tree];
  return Object.values(tree).flatMap(leaves);
}

type Container = Record<string, unknown> | unknown[];

function containers(tree: unknown): Container[] {
  if (typeof tree !== "object" || tree === null) return [];
  return [tree as Container, ...Object.values(tree).flatMap(containers)];
}

function once(random: Random, tree: unknown, own: readonly unknown[]): unknown {
  const all = containers(tree);
  if (all.length === 0 || random.chance(0.02)) return structuredClone(random.pick(edges));
  const chosen = random.pick(all);
  const value = structuredClone(random.chance(0.3) && own.length > 0 ? random.pick(own) : random.pick(edges));
  if (Array.isArray(chosen)) changeList(random, chosen, value);
  else changeMap(random, chosen, value, all);
  return tree;
}

function changeList(random: Random, list: unknown[], value: unknown): void {
  const at = random.below(list.length + 1);
  switch (random.below(5)) {
    case 0:
      list.splice(at, 0, value);
      break;
    case 1:
      list.splice(at, 1);
      break;
    case 2:
      if (list.length > 0) list.push(structuredClone(random.pick(list)));
      break;
    case 3:
      list.reverse();
      break;
    default:
      if (list.length > 0) list[random.below(list.length)] = value;
  }
}

function changeMap(
  random: Random,
  map: Record<string, unknown>,
  value: unknown,
  all: readonly Container[],
): void {
  const keys = Object.keys(map);
  const key = keys.length > 0 ? random.pick(keys) : "x";
  switch (random.below(6)) {
    case 0:
      delete map[key];
      break;
    case 1:
      // Names of inherited properties of JavaScript objects are valid keys.
      Object.defineProperty(
        map,
        random.pick(["__proto__", "constructor", "toString", "x", "metadata", "spec"]),
        {
          value,
          enumerable: true,
          configurable: true,
          writable: true,
        },
      );
      break;
    case 2:
      map[random.pick(keysOf(random.pick(all), key))] = value;
      break;
    case 3:
      map[key] = [map[key], structuredClone(map[key])];
      break;
    case 4:
      if (typeof map[key] === "string") map[key] = changedText(random, map[key]);
      break;
    default:
      map[key] = value;
  }
}

function keysOf(container: Container, otherwise: string): string[] {
  const keys = Object.keys(container);
  return keys.length > 0 ? keys : [otherwise];
}

const pieces = [
  "",
  " ",
  "/",
  ".",
  "-",
  "_",
  "=",
  "!",
  ",",
  "(",
  ")",
  "\\",
  '"',
  "'",
  "\n",
  "\t",
  "{",
  "[",
  "*",
  "#",
];

/** A text with a piece more, less or doubled. */
export function changedText(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  const to = at + random.below(text.length - at + 1);
  switch (random.below(5)) {
    case 0:
      return text.slice(0, at) + random.pick(pieces) + text.slice(at);
    case 1:
      return text.slice(0, at) + text.slice(to);
    case 2:
      return text.slice(0, to) + text.slice(at);
    case 3:
      return (
        text.slice(0, at) +
        String.fromCharCode(random.below(random.chance(0.9) ? 128 : 65_536)) +
        text.slice(at + 1)
      );
    default:
      return text.slice(0, at) + text.slice(at, to).repeat(1 + random.below(20)) + text.slice(to);
  }
}

/** Bytes with some of them changed, gone, doubled or added. */
export function changedBytes(random: Random, bytes: Uint8Array): Buffer {
  let result = Buffer.from(bytes);
  for (let change = 1 + random.below(4); change > 0; change--) {
    const at = random.below(result.length + 1);
    const to = Math.min(result.length, at + random.below(16));
    switch (random.below(5)) {
      case 0:
        if (at < result.length) result[at] = random.below(256);
        break;
      case 1:
        result = Buffer.concat([result.subarray(0, at), result.subarray(to)]);
        break;
      case 2:
        result = Buffer.concat([result.subarray(0, to), result.subarray(at)]);
        break;
      case 3:
        result = Buffer.concat([result.subarray(0, at), random.bytes(random.below(8)), result.subarray(at)]);
        break;
      default:
        result = result.subarray(0, at);
    }
  }
  return result;
}
