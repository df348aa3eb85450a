import assert from "node:assert/strict";
import { test } from "node:test";
import { missingText } from "../manifests/missing.ts";
import { World } from "../manifests/world.ts";
import { claim, gpuClass, type Manifest, node, pod, slice, usesClaim } from "../plan/testing.ts";
import { explainText } from "./print.ts";
import { explained, now } from "./testing.ts";

const textOf = async (...objects: readonly Manifest[]): Promise<string> =>
  explainText(await explained("pod/w", [gpuClass, ...objects]), now);

const waits = pod("w", usesClaim("c"));

test("leaves out requests that the node can serve", async () => {
  const cordoned = node("a", {
    spec: {
      unschedulable: true,
      taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }],
    },
  });
  const text = await textOf(cordoned, slice("a", 1), claim("c"), waits);
  assert.doesNotMatch(text, /claim default\/c/);
  assert.match(text, /\n {2}node a uncordoned: it lands on a\n/);
});

test("prints the refusal of an empty node, and a change for requests of one kind, once", async () => {
  const text = await textOf(node("a"), claim("c"), waits);
  assert.equal(text.match(/the node can reach no device/g)?.length, 1, text);
  assert.match(text, /\nAn empty node like a would not take it either\n/);
  const models = ["x", "y"].map((model, i) => ({
    name: `gpu-${i}`,
    attributes: { model: { string: model } },
  }));
  const exactly = { deviceClassName: "gpu" };
  const two = {
    ...claim("c"),
    spec: {
      devices: {
        requests: ["one", "two"].map((name) => ({ name, exactly })),
        constraints: [{ matchAttribute: "gpu.example.com/model" }],
      },
    },
  };
  const pair = await textOf(node("a"), slice("a", models), two, waits);
  assert.equal(pair.match(/1 more device like gpu.example.com\/a\/gpu-0 on node a/g)?.length, 1, pair);
});

test("an incomplete pool says how much of it is there", async () => {
  const part = slice("a", 1, { resourceSliceCount: 3 });
  assert.match(
    await textOf(node("a"), part, claim("c"), waits),
    /pool gpu.example.com\/a is incomplete: its driver has published 1 of 3 slices/,
  );
});

test("an object of the manifests that is not valid is not said to be missing", () => {
  const world = new World([], new Set(), new Set(["ResourceClaim default/c"]));
  assert.equal(
    missingText(world, "ResourceClaim", "default", "c"),
    'ResourceClaim "c" in namespace default is not valid, and is left out: see what is said about it',
  );
});
