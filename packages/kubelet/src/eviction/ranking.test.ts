import assert from "node:assert/strict";
import { test } from "node:test";
import { Quantity } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { evictionMessage, type PodUsage, rankPods } from "./ranking.ts";
import type { EvictionSignal } from "./signals.ts";

const mi = 1024n ** 2n;

interface Case {
  readonly name: string;
  readonly priority?: number;
  readonly requests?: Record<string, string>;
  /** In MiB; absent if unknown. */
  readonly memory?: number;
  readonly disk?: number;
  readonly inodes?: number;
}

const podOf = ({ name, priority, requests = {} }: Case): Pod =>
  partial<Pod>({
    metadata: { name, uid: name, namespace: "default" },
    spec: {
      ...(priority !== undefined && { priority }),
      containers: [{ name: "main", resources: { requests } }],
    },
  });

const usage = ({ memory = 0, disk = 0, inodes = 0 }: Case): PodUsage => ({
  memory: BigInt(memory) * mi,
  disk: BigInt(disk) * mi,
  inodes: BigInt(inodes),
  containers: [{ name: "main", memory: BigInt(memory) * mi, logs: BigInt(disk) * mi }],
});

function ranked(signal: EvictionSignal, cases: readonly Case[], dedicated = false): string[] {
  const known = new Map(
    cases
      .filter((one) => one.memory !== undefined || one.disk !== undefined || one.inodes !== undefined)
      .map((one) => [one.name, usage(one)]),
  );
  const pods = cases.map((one) => ({ pod: podOf(one) }));
  const names = rankPods(signal, pods, ({ metadata }) => known.get(metadata.uid), dedicated);
  return names.map(({ pod }) => pod.metadata.name);
}

test("memory: above requests first, then low priority, then the most above requests", () => {
  const cases: Case[] = [
    { name: "within-low", priority: -10, requests: { memory: "1Gi" }, memory: 500 },
    { name: "above-high", priority: 100, requests: { memory: "100Mi" }, memory: 900 },
    { name: "above-little", requests: { memory: "100Mi" }, memory: 150 },
    { name: "above-much", requests: { memory: "500Mi" }, memory: 600 },
    { name: "best-effort", memory: 70 },
    { name: "unknown", priority: 1000 },
  ];
  assert.deepEqual(ranked("memory.available", cases), [
    "unknown",
    "above-much",
    "best-effort",
    "above-little",
    "above-high",
    "within-low",
  ]);
});

test("disk and inodes are ranked by their own use", () => {
  const cases: Case[] = [
    { name: "files", disk: 1, inodes: 5000 },
    { name: "bytes", disk: 100, inodes: 10 },
    { name: "asked-for", requests: { "ephemeral-storage": "1Gi" }, disk: 500, inodes: 1 },
  ];
  assert.deepEqual(ranked("nodefs.available", cases), ["bytes", "files", "asked-for"]);
  assert.deepEqual(ranked("nodefs.inodesFree", cases), ["files", "bytes", "asked-for"]);
  assert.deepEqual(ranked("imagefs.available", cases), ["bytes", "files", "asked-for"]);
  // Only usage of the node's file system counts, so the order stays.
  assert.deepEqual(ranked("imagefs.available", cases, true), ["files", "bytes", "asked-for"]);
});

test("processes: priority alone", () => {
  const cases: Case[] = [{ name: "a", priority: 5 }, { name: "b" }, { name: "c", priority: -5, memory: 1 }];
  assert.deepEqual(ranked("pid.available", cases), ["c", "b", "a"]);
});

test("the message names the threshold and the containers above their requests", () => {
  const one: Case = { name: "a", requests: { memory: "100Mi" }, memory: 300, disk: 2 };
  const [threshold, available] = [Quantity.parse("100Mi"), Quantity.of(50n * mi, "BinarySI")];
  assert.equal(
    evictionMessage(podOf(one), usage(one), { resource: "memory", threshold, available }),
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. " +
      "Container main was using 300Mi, request is 100Mi, has larger consumption of memory. ",
  );
  assert.equal(
    evictionMessage(podOf(one), usage(one), { resource: "ephemeral-storage", threshold, available }),
    "The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: 50Mi. " +
      "Container main was using 2Mi, request is 0, has larger consumption of ephemeral-storage. ",
  );
  const modest = { ...one, memory: 99 };
  for (const known of [usage(modest), undefined])
    assert.equal(
      evictionMessage(podOf(modest), known, { resource: "memory", threshold, available }),
      "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ",
    );
});
