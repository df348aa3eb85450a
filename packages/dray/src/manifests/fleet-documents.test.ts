import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import { withFleets } from "./fleet-documents.ts";
import { readObjects } from "./read.ts";
import { Selectors } from "./selectors.ts";
import { sourceOf } from "./source.ts";
import type { World } from "./world.ts";

const features = featuresOf();

async function read(
  ...texts: readonly string[]
): Promise<{ world: World; notes: readonly string[]; problems: readonly object[] }> {
  const given = texts.map((text, i) => sourceOf(`${i}.${text.startsWith("{") ? "json" : "yaml"}`, text));
  const sources = await withFleets({ sources: given, problems: [] }, features);
  if (sources.problems.length > 0) return { ...sources, world: undefined as never, notes: [] };
  return readObjects(sources, {
    features,
    namespace: "default",
    selectors: new Selectors(features),
    now: "2026-01-01T00:00:00Z",
  });
}

const fleet = `# comment
apiVersion: v1
kind: Node
metadata: { name: real-1 }
---
apiVersion: dray.dev/v1alpha1
kind: Fleet
nodes:
  - { name: "made-{index}", count: 2, labels: { zone: a }, capacity: { cpu: 8 } }
  - pattern: "*"
    drivers:
      - driver: gpu.example.com
        pools: [{ devices: [{ name: "gpu-{index}", count: 130 }] }]
network:
  - driver: net.example.com
    pools: [{ name: fabric, allNodes: true, devices: [{ name: port }] }]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: { name: gpu.example.com }
`;

test("adds the objects of Fleet documents to those of the sources", async () => {
  const { world, notes, problems } = await read(
    fleet,
    "apiVersion: v1\nkind: Node\nmetadata: {name: other}\n",
  );
  assert.deepEqual([problems, notes], [[], []]);
  const named = (kind: "Node" | "DeviceClass"): string[] =>
    world.all(kind).map(({ object }) => object.metadata.name);
  assert.deepEqual(named("Node"), ["real-1", "other", "made-0", "made-1"]);
  assert.deepEqual(named("DeviceClass"), ["gpu.example.com", "net.example.com"]);
  const { metadata, status } = world.find("Node", "made-1")!;
  assert.deepEqual([metadata.labels?.["zone"], metadata.labels?.["kubernetes.io/hostname"]], ["a", "made-1"]);
  assert.deepEqual([status?.allocatable?.["cpu"], status?.allocatable?.["pods"]], ["8", "110"]);
  const slices = world.all("ResourceSlice").map(({ object }) => object.spec);
  const of = (node: string | undefined) =>
    slices
      .filter(({ nodeName }) => nodeName === node)
      .map(({ driver, pool, devices }) => [
        driver,
        pool.name,
        Number(pool.resourceSliceCount),
        devices?.length,
      ]);
  for (const node of ["made-0", "made-1", "real-1", "other"])
    assert.deepEqual(of(node), [
      ["gpu.example.com", node, 2, 128],
      ["gpu.example.com", node, 2, 2],
    ]);
  assert.deepEqual(of(undefined), [["net.example.com", "fabric", 1, 1]]);
});

test("reads a Fleet in JSON, and reports mistakes with their lines", async () => {
  const json = { apiVersion: "dray.dev/v1alpha1", kind: "Fleet", nodes: [{ name: "a", drivers: [] }] };
  const { world } = await read(JSON.stringify(json));
  assert.deepEqual(
    world.objects.map(({ object }) => object.metadata.name),
    ["a"],
  );
  const { problems } = await read(fleet.replace("count: 2", "count: many"));
  assert.deepEqual(problems, [
    {
      rule: "invalid",
      file: "0.yaml",
      line: 9,
      path: "nodes[0].count",
      object: "Fleet",
      message: '"many" must be a whole number from 1 to 20000',
    },
  ]);
});
