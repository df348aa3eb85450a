import type { Random } from "@dray/testing/random";
import { encodeYAML } from "../../packages/apiserver/src/yaml/emit.ts";
import type { Scenario, Step } from "./corpus.ts";
import type { Sent } from "./target.ts";

/**
 * A body with one place in it that is much larger than anybody means, and the text of it where trees have
 * none.
 */
interface Bomb {
  readonly tree: unknown;
  readonly text?: string;
}

/** Number of repetitions: enough to notice a time that grows with their square. */
const many = 20_000;

const pieces = [
  "a",
  "-",
  ".",
  "a.",
  "a-",
  "0",
  " ",
  "/",
  ":",
  "a,",
  "(",
  "\\",
  "1.",
  "{{",
  "é",
  "%",
  "a/",
  "=",
  "\n",
];

/** Of one text, or of a piece over and over between two others. */
function longText(random: Random, text: string): string {
  const piece = random.chance(0.3) && text !== "" ? text : random.pick(pieces);
  const long = piece.repeat(Math.ceil(200_000 / piece.length));
  return random.pick([long, `${text}${long}`, `${long}!`, `a${long}b`]);
}

/** A copy of an element that is not the same element to those who look for repeated ones. */
function numbered(item: unknown, index: number): unknown {
  if (typeof item === "string") return `${item}${index}`;
  if (typeof item !== "object" || item === null) return index;
  return Object.fromEntries(
    Object.entries(item).map(([key, value]) => [
      key,
      ["name", "key", "type", "uid", "mountPath", "ip"].includes(key) ? `${String(value)}${index}` : value,
    ]),
  );
}

function deep(depth: number, list: boolean): string {
  return list ? "[".repeat(depth) + "]".repeat(depth) : `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
}

const mark = "@bomb@";

/** The value of that place made large, or a text that is put where the mark is. */
function blownUp(random: Random, value: unknown): { readonly value: unknown; readonly text?: string } {
  const text = random.below(12);
  if (text === 0)
    return { value: mark, text: deep(random.pick([500, 3000, 9000, 20_000]), random.chance(0.5)) };
  if (text === 1)
    return {
      value: mark,
      text: random.pick(["9".repeat(100_000), `0.${"1".repeat(100_000)}`, "1e400", "1e-99999"]),
    };
  if (text === 2) return { value: mark, text: `{${'"a":1,'.repeat(many)}"b":2}` };
  if (Array.isArray(value)) {
    const [first = "a"] = value as unknown[];
    const same = random.chance(0.3);
    return { value: Array.from({ length: many / 4 }, (_, index) => (same ? first : numbered(first, index))) };
  }
  if (typeof value === "object" && value !== null) {
    const first = Object.values(value)[0] ?? "a";
    const more = Array.from({ length: many / 4 }, (_, index) => [`k${index}`, first] as const);
    return { value: { ...value, ...Object.fromEntries(more) } };
  }
  return { value: longText(random, typeof value === "string" ? value : "1") };
}

interface Place {
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
}

function placesOf(tree: unknown): Place[] {
  if (typeof tree !== "object" || tree === null) return [];
  const holder = tree as Record<string | number, unknown>;
  const keys = Array.isArray(tree) ? tree.map((_, index) => index) : Object.keys(tree);
  return keys.flatMap((key) => [{ holder, key }, ...placesOf(holder[key])]);
}

function bombOf(random: Random, body: object): Bomb {
  const tree = structuredClone(body);
  const places = placesOf(tree).filter(({ key }) => key !== "apiVersion" && key !== "kind");
  if (places.length === 0) return { tree };
  const { holder, key } = random.pick(places);
  const { value, text } = blownUp(random, holder[key]);
  holder[key] = value;
  return {
    tree,
    ...(text === undefined ? {} : { text: JSON.stringify(tree).replace(`"${mark}"`, () => text) }),
  };
}

const yamlBombs: readonly (() => string)[] = [
  () =>
    `a: &a [x,x,x,x,x,x,x,x,x]\n${[..."bcdefgh"].map((name, index) => `${name}: &${name} [${`*${"abcdefgh"[index]!},`.repeat(9)}]`).join("\n")}\n`,
  () => "- ".repeat(20_000),
  () => "[".repeat(20_000),
  () => "{a: ".repeat(20_000),
  () => "? ".repeat(20_000),
  () => `a: ${"!!str ".repeat(5000)}x`,
  () => "---\n".repeat(20_000),
  () => `a: |\n${" x\n\n".repeat(20_000)}`,
  () => `a: ${"x\n  ".repeat(20_000)}`,
  () => `a: "${"\\x41".repeat(50_000)}"`,
  () => Array.from({ length: 10_000 }, (_, index) => `k${index}: &a${index} 1`).join("\n"),
  () => `x: &x {a: 1}\n${"<<: *x\n".repeat(10_000)}`,
  () => `${"a: 1\n".repeat(20_000)}`,
  () => `a: ${"#".repeat(100_000)}\n${" ".repeat(100_000)}b`,
];

const json = "application/json";
const yaml = "application/yaml";

function send(method: string, url: string, contentType: string, body: string): Sent {
  const headers = { accept: json, "user-agent": "fuzz/1", "content-type": contentType };
  return { method, url, headers, body: Buffer.from(body) };
}

function operations(random: Random, body: object): object[] {
  const at = `/metadata/annotations`;
  const copies = Array.from({ length: 30 }, (_, index) => ({
    op: "copy",
    from: at,
    path: `${at}/k${index}`,
  }));
  const adds = Array.from({ length: 5000 }, (_, index) => ({
    op: "add",
    path: "/metadata/finalizers/0",
    value: `a/${index}`,
  }));
  const tests = Array.from({ length: many }, () => ({
    op: "test",
    path: "/kind",
    value: (body as { kind?: unknown }).kind,
  }));
  return random.pick([
    [{ op: "add", path: at, value: { a: "b" } }, ...copies],
    [{ op: "add", path: "/metadata/finalizers", value: [] }, ...adds],
    tests,
  ]);
}

const patches = [
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
];

/** Objects that are too large somewhere: created, and put over what is there in all ways. */
export function bombs(random: Random, scenario: Scenario): Sent[] {
  const creating = scenario.steps.filter(
    ({ method, body }) => method === "POST" && typeof body === "object" && body !== null,
  );
  if (creating.length === 0) return [];
  const step = random.pick(creating) as Step & { readonly body: object };
  const before = scenario.steps.slice(0, scenario.steps.indexOf(step));
  const path = step.path.replace(/\$\{[^}]*\}/g, "1");
  const name = (step.body as { metadata?: { name?: unknown } }).metadata?.name;
  const { tree, text = JSON.stringify(tree) } = bombOf(random, step.body);
  const made = before.flatMap(({ method, path, body }) =>
    method === "POST" && !path.includes("$") ? [send("POST", path, json, JSON.stringify(body ?? {}))] : [],
  );
  if (random.chance(0.1)) return [send("POST", path, yaml, random.pick(yamlBombs)())];
  if (typeof name !== "string" || random.chance(0.4)) {
    const asYAML = random.chance(0.2) && text === JSON.stringify(tree);
    return [...made, send("POST", path, asYAML ? yaml : json, asYAML ? encodeYAML(tree as object) : text)];
  }
  const url = `${path.split("?")[0]}/${encodeURIComponent(name)}`;
  const type = random.pick(patches);
  const manager = type.endsWith("yaml") ? "?fieldManager=f&force=true" : "";
  return [
    ...made,
    send("POST", path, json, JSON.stringify(step.body)),
    random.chance(0.1)
      ? send("PATCH", url, "application/json-patch+json", JSON.stringify(operations(random, step.body)))
      : send("PATCH", `${url}${manager}`, type, text),
    // Once more, over what is large now.
    send("PATCH", `${url}${manager}`, type, text),
    {
      method: "GET",
      url,
      headers: { accept: random.pick([json, yaml, "application/json;as=Table;v=v1;g=meta.k8s.io"]) },
    },
    send("DELETE", url, json, "{}"),
  ];
}
