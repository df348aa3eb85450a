import assert from "node:assert/strict";
import { test } from "node:test";
import { allocatorFeatures, createAllocator } from "@dray/allocator";
import { featuresOf } from "@dray/api";
import type { Plugin } from "../framework/framework.ts";
import { PodGroups } from "../podgroup/pod-groups.ts";
import { MemoryClaims } from "./dynamic-resources/memory-claims.ts";
import { PendingAllocations } from "./dynamic-resources/pending-allocations.ts";
import { createPlugins, defaultPlugins } from "./registry.ts";
import { TestStorage } from "./testing/volumes.ts";
import type { VolumeWriter } from "./volume-binding/writer.ts";

const gates = ["GenericWorkload", "TopologyAwareWorkloadScheduling"];
const named = (name: string): Plugin => ({ name, mayHelp: () => false });

test("each default plugin is created under its name, in the order of the list", () => {
  const features = featuresOf("1.37", new Map(gates.map((gate) => [gate, true])));
  const allocator = createAllocator({ newId: () => "id", features: allocatorFeatures(features) });
  const writer: VolumeWriter = {
    volume: async (volume) => volume,
    claim: async (claim) => claim,
    exists: () => true,
    until: async (check) => check(),
  };
  const plugins = createPlugins({
    features,
    allocator,
    claims: new MemoryClaims(allocator),
    pending: new PendingAllocations(allocator),
    groups: new PodGroups(() => undefined, { isPlaced: () => false, nodeOf: () => undefined }),
    deviceClass: () => undefined,
    newId: () => "id",
    volumes: { lookup: new TestStorage(), writer },
    namespaceLabels: () => undefined,
    preemption: named("DefaultPreemption"),
    binder: named("DefaultBinder"),
    now: () => 0,
    random: () => 0,
  });
  assert.deepEqual(
    plugins.map(({ name }) => name),
    defaultPlugins.map(({ name }) => name),
  );
});
