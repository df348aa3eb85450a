import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Node } from "@dray/api/core/v1";
import type { AllocationResult, DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { createAllocator, type Features } from "./index.ts";

/** A question and what Kubernetes' own allocator, 0.37.2, answered. */
interface Recorded {
  readonly name: string;
  readonly features: readonly string[];
  readonly node: Node;
  readonly claims: readonly ResourceClaim[];
  readonly classes: readonly DeviceClass[];
  readonly slices: readonly ResourceSlice[];
  readonly allocated?: { readonly devices?: readonly string[] };
  readonly expect: {
    readonly allocations?: readonly AllocationResult[] | null;
    readonly error?: string;
    readonly nodeError?: string;
  };
}

const recorded = readFileSync(new URL("./testdata/allocations.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n");

function featuresOf(names: readonly string[]): Features {
  const on = (name: string): boolean => names.includes(name);
  return {
    adminAccess: on("AdminAccess"),
    prioritizedList: on("PrioritizedList"),
    partitionableDevices: on("PartitionableDevices"),
    consumableCapacity: on("ConsumableCapacity"),
    deviceTaints: on("DeviceTaints"),
    deviceBindingAndStatus: on("DeviceBindingAndStatus"),
    fractionalCapacityRange: on("FractionalCapacityRange"),
    listTypeAttributes: on("ListTypeAttributes"),
    optionalNodeOperations: on("OptionalNodeOperations"),
  };
}

function answer(question: Recorded, shouldStop?: () => boolean): Recorded["expect"] {
  const allocator = createAllocator({ features: featuresOf(question.features), newId: () => "" });
  for (const object of question.slices) allocator.update({ kind: "slice", object, deleted: false });
  for (const object of question.classes) allocator.update({ kind: "class", object, deleted: false });
  const results = (question.allocated?.devices ?? []).map((id) => {
    const [driver = "", pool = "", device = ""] = id.split("/");
    return { request: "r", driver, pool, device };
  });
  const holder: ResourceClaim = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      name: "holder",
      namespace: "default",
      uid: "holder",
      resourceVersion: "",
      creationTimestamp: "",
    },
    spec: {},
    status: { allocation: { devices: { results } } },
  };
  allocator.update({ kind: "claim", object: holder, deleted: false });
  let result = allocator.allocate(question.node, question.claims, shouldStop && { shouldStop });
  while (result.type === "stopped") result = result.resume();
  switch (result.type) {
    case "allocated":
      return { allocations: result.allocations };
    case "refused":
      return result.message === "cannot allocate all claims"
        ? { allocations: null }
        : { nodeError: result.message };
    case "error":
      return { error: result.message };
  }
}

/** Empty fields are as good as none; what follows upon these texts is worded by other libraries. */
function comparable({ allocations, error, nodeError }: Recorded["expect"]): unknown {
  if (error !== undefined) {
    return error.replace(/(CEL (compile|runtime) error:|failed to parse node selector).*/s, "$1");
  }
  return nodeError ?? (allocations === null ? "does not fit" : (allocations ?? []).map(clean));
}

function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => clean(item) ?? item);
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value)
      .map(([key, item]) => [key, clean(item)] as const)
      .filter(([, item]) => item !== undefined);
    return entries.length === 0 ? undefined : Object.fromEntries(entries);
  }
  return value === "" || value === false || value === null ? undefined : value;
}

for (const line of recorded) {
  const question = JSON.parse(line) as Recorded;
  test(question.name, () => {
    const wanted = comparable(question.expect);
    assert.deepEqual(comparable(answer(question)), wanted);
    assert.deepEqual(question, JSON.parse(line), "objects that were handed in have changed");
    assert.deepEqual(
      comparable(answer(question, () => true)),
      wanted,
      "a search that is stopped at every turn answers otherwise",
    );
  });
}
