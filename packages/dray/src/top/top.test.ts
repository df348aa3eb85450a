import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Inventory } from "../inventory/inventory.ts";
import { deviceClass, features, heldClaim, partitionedGpu, worldOf } from "../inventory/testing.ts";
import { type Schema, violations } from "../observe/json-schema.ts";
import { claim, gpuClass, node, slice, template } from "../plan/testing.ts";
import { subjects, topData } from "./data.ts";
import { topText } from "./print.ts";

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

test("nodes: devices that share counters are one", () => {
  assert.equal(
    text("nodes"),
    [
      "NODE   DEVICES   FREE   PARTLY   ALLOCATED   TAINTED   UNHEALTHY   WASTE   UNUSABLE   CLAIMS",
      "a      3         2      -        1           -         -           -       -          1",
      "b      1         1      -        -           -         -           -       -          -",
      "",
      "6 devices are published; those that share counters are counted as one.",
      "",
    ].join("\n"),
  );
});

test("classes: free, allocated and pending devices, and headroom", () => {
  assert.equal(
    text("classes"),
    [
      "CLASS   FREE   ALLOCATED   PENDING   HEADROOM",
      "gpu     3      1           2         4 (a 2, b 2)",
      "half    1      0           0         2 (b 2)",
      "",
      "TEMPLATE       CLASSES   HEADROOM",
      "default/pair   gpu       2 (a 1, b 1)",
      "",
    ].join("\n"),
  );
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
