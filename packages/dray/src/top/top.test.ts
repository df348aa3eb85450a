import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { KubeObject } from "@dray/api";
import { Inventory } from "../inventory/inventory.ts";
import { deviceClass, features, heldClaim, partitionedGpu, worldOf } from "../inventory/testing.ts";
import { answerWithoutFaults } from "../manifests/faults.ts";
import { type Schema, violations } from "../observe/json-schema.ts";
import { claim, gpuClass, node, slice, template } from "../plan/testing.ts";
import { UsageError } from "../terminal/failure.ts";
import { plainFormat, type TableFormat } from "../text/table.ts";
import { type TopView, topData } from "./data.ts";
import { topText } from "./print.ts";
import { parseSelection } from "./selection.ts";
import { checkSortKey } from "./sort.ts";
import { type Subject, subjects } from "./subjects.ts";

const schema = JSON.parse(readFileSync(join(import.meta.dirname, "../../schema/top.json"), "utf8")) as Schema;

const half = deviceClass("half", 'device.attributes["gpu.example.com"].kind == "half"');
const inventory = new Inventory(
  worldOf([
    node("a"),
    node("b"),
    slice("a", 3),
    ...partitionedGpu("b", "g0"),
    gpuClass,
    half,
    template("pair", { count: 2 }),
    {
      ...heldClaim("h", ["a/gpu-0"], ["p"]),
      metadata: { name: "h", uid: "h", creationTimestamp: "2026-01-01T00:00:00Z" },
    },
    claim("waits", { count: 2 }),
  ]),
  features,
);
const text = (what: (typeof subjects)[number]): string =>
  topText(topData(what, inventory), Date.parse("2026-01-01T00:02:05Z"));

test("the data of top matches its schema", () => {
  for (const what of subjects)
    assert.deepEqual(violations(schema, JSON.parse(JSON.stringify(topData(what, inventory)))), [], what);
  assert.notDeepEqual(violations(schema, { version: 1, what: "nodes", nodes: [{ node: 1 }] }), []);
});

test("nodes: devices that share counters are one, and there is a total", () => {
  assert.equal(
    text("nodes"),
    [
      "NODE    DEVICES   FREE   PARTLY   ALLOCATED   TAINTED   UNHEALTHY   WASTE   UNUSABLE   CLAIMS",
      "a       3         2      -        1           -         -           -       -          1",
      "b       1         1      -        -           -         -           -       -          -",
      "total   4         3      -        1           -         -           -       -          1",
      "",
      "6 devices are published; those that share counters are counted as one.",
      "",
    ].join("\n"),
  );
});

test("classes: free, allocated and pending devices, and headroom", () => {
  const templates = ["TEMPLATE       CLASSES   HEADROOM", "default/pair   gpu       2 (a 1, b 1)", ""].join(
    "\n",
  );
  assert.equal(
    text("classes"),
    [
      "CLASS   FREE   ALLOCATED   PENDING   HEADROOM",
      "gpu     3      1           2         4 (a 2, b 2)",
      "half    1      0           0         2 (b 2)",
      "",
      templates,
    ].join("\n"),
  );
  assert.equal(text("templates"), templates);
});

test("devices and claims name their holders", () => {
  const [, first, second] = text("devices").split("\n");
  assert.match(first ?? "", /^gpu.example.com\/a\/gpu-0 +a +allocated +default\/h for p +-$/);
  assert.match(second ?? "", /^gpu.example.com\/a\/gpu-1 +a +free +- +-$/);
  assert.match(text("devices"), /g0-whole +b +free +- +shares counters with g0-half-0, g0-half-1\n/);
  assert.equal(
    text("claims"),
    [
      "CLAIM           STATE      CLASSES   DEVICES                   NODE   PODS        AGE",
      "default/h       reserved   gpu       gpu.example.com/a/gpu-0   a      default/p   2m5s",
      "default/waits   pending    gpu       -                         -      -           -",
      "",
    ].join("\n"),
  );
  assert.match(text("namespaces"), /^default +2 +1 +1 +- +gpu 1$/m);
});

/** Nodes of two zones with two GPUs each, and claims of two namespaces. */
function zones(count: number): Inventory {
  const name = (i: number): string => `n${String(i).padStart(4, "0")}`;
  const nodes = Array.from({ length: count }, (_, i) => {
    const { metadata, ...rest } = node(name(i)) as ReturnType<typeof node> & { metadata: object };
    return { ...rest, metadata: { ...metadata, labels: { zone: i % 2 === 0 ? "even" : "odd" } } };
  });
  const slices = nodes.map((_, i) => {
    const attributes = { model: { string: i === 0 ? "old" : "new" } };
    return slice(name(i), [
      { name: "gpu-0", attributes },
      { name: "gpu-1", attributes },
    ]);
  });
  const held = heldClaim("h", [`${name(1)}/gpu-0`], ["p"]);
  const other = { ...claim("other"), metadata: { name: "other", namespace: "team", labels: { app: "x" } } };
  return new Inventory(worldOf([...nodes, ...slices, gpuClass, held, other]), features);
}
const small = zones(3);
const view = (what: Subject, options: TopView, format: Partial<TableFormat> = {}): string =>
  topText(topData(what, small, options), 0, { format: { ...plainFormat, ...format } });
const selected = (selector: string): TopView => ({ selection: parseSelection(selector, features) });

test("--selector chooses by labels, of nodes and devices also by an expression about devices", () => {
  const first = (text: string): string[] => text.match(/^\S+/gm)!.slice(1);
  assert.deepEqual(first(view("nodes", selected("zone=even"))), ["n0000", "n0002", "total"]);
  assert.deepEqual(first(view("nodes", selected("zone notin (even)"))), ["n0001"]);
  const old = 'device.attributes["gpu.example.com"].model == "old"';
  assert.deepEqual(first(view("nodes", selected(old))), ["n0000"]);
  assert.equal(first(view("devices", selected(old))).length, 2);
  assert.equal(first(view("devices", selected("zone=odd"))).length, 2);
  assert.deepEqual(first(view("claims", selected("app"))), ["team/other"]);
  assert.deepEqual(first(view("claims", { namespace: "default" })), ["default/h"]);
  assert.throws(() => parseSelection("zone=(a", features), UsageError);
  assert.throws(
    () => parseSelection("device.driver = 1", features),
    (error) => error instanceof UsageError && error.message.startsWith("--selector device.driver = 1: "),
  );
});

test("--sort-by has the largest numbers first, --group-by one row for each value of a label", () => {
  assert.match(view("nodes", { sortBy: "allocated" }), /^NODE.*\nn0001 /);
  assert.match(view("nodes", { sortBy: "free" }), /^NODE.*\nn0000.*\nn0002.*\nn0001/);
  assert.throws(() => checkSortKey("nodes", "fre"), /must be one of node, .* \(did you mean free\?\)/);
  for (const what of subjects) {
    const [title = ""] = text(what).split("\n");
    assert.doesNotThrow(() => checkSortKey(what, title.split(/ {2,}/)[0]!.toLowerCase()));
  }
  assert.equal(
    view("nodes", { groupBy: "zone" }),
    [
      "GROUP   NODES   DEVICES   FREE   PARTLY   ALLOCATED   TAINTED   UNHEALTHY   WASTE   UNUSABLE   CLAIMS",
      "even    2       4         4      -        -           -         -           -       -          -",
      "odd     1       2         1      -        1           -         -           -       -          1",
      "total   3       6         5      -        1           -         -           -       -          1",
      "",
    ].join("\n"),
  );
  const data = JSON.parse(JSON.stringify(topData("nodes", small, { groupBy: "zone" })));
  assert.deepEqual(violations(schema, data), []);
});

test("many rows are cut, which is said, unless all are wanted or the output is for programs", () => {
  const data = topData("nodes", zones(60), {});
  const lines = (text: string): string[] => text.trimEnd().split("\n");
  const cut = lines(topText(data, 0));
  assert.equal(cut.length, 1 + 50 + 2);
  assert.match(cut[51]!, /^total +120 +119 /);
  assert.equal(cut[52], "and 10 more nodes: --all lists them, --sort-by and -l choose");
  assert.equal(lines(topText(data, 0, { all: true })).length, 1 + 60 + 1);
  const rows = lines(topText(data, 0, { format: { ...plainFormat, headers: false } }));
  assert.deepEqual([rows.length, rows[0]!.split(/ +/)[0]], [60, "n0000"]);
});

test("tables fit narrow terminals; -o wide has all columns", () => {
  for (const what of subjects)
    for (const width of [50, 80, 100])
      for (const line of view(what, {}, { width }).split("\n"))
        assert.ok(
          line.length <= width || /^\S* devices are|^\(narrow/.test(line),
          `${what} ${width}: ${line}`,
        );
  // Pools are named as their nodes.
  assert.match(view("devices", {}), /^DEVICE +STATE /);
  assert.match(view("devices", {}, { width: 50, wide: true }), /^DEVICE +NODE .*REMARK +HEALTH +TAINTS\n/);
});

test("an object with which an answer fails is left out and named", () => {
  const { world } = small;
  const odd = { apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: { name: "odd" } };
  const [first, ...others] = world.objects;
  const objects = [{ object: odd as KubeObject, place: first!.place }, first!, ...others];
  for (const what of subjects) {
    const { answer, faults } = answerWithoutFaults(world.of(objects), (readable) =>
      topData(what, new Inventory(readable, features)),
    );
    assert.deepEqual(answer, topData(what, small), what);
    assert.deepEqual(
      faults.map(({ label }) => label),
      ["ResourceSlice odd"],
      what,
    );
  }
});
