/**
 * Replays recorded answers of Kubernetes' own allocator (files of JSON lines; the first argument is their folder, a
 * second one a number of disagreements to print, a third one a part of the file names) and prints how many agree.
 * Cases of features that are not built are counted apart.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createAllocator, type Features } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type { AllocationResult, DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";

interface Vector {
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

const notBuilt = [
  "ConsumableCapacity",
  "DeviceBindingAndStatus",
  "CompatibilityGroups",
  "DerivedAttributes",
  "ListTypeAttributes",
  "PartitionableDevices",
];
const [folder = ".", show = "0", part = ""] = process.argv.slice(2);
let printed = 0;

for (const file of readdirSync(folder)
  .filter((name) => name.endsWith(".jsonl") && name.includes(part))
  .sort()) {
  let good = 0;
  let bad = 0;
  let apart = 0;
  let apartGood = 0;
  for (const line of readFileSync(join(folder, file), "utf8").trim().split("\n")) {
    const vector = JSON.parse(line) as Vector;
    const before = line;
    const built = !vector.features.some((feature) => notBuilt.includes(feature));
    const wanted = comparable(vector.expect);
    let actual: string;
    try {
      actual = comparable(answer(vector));
    } catch (error) {
      actual = String(error instanceof Error ? error.stack : error);
    }
    const agrees = actual === wanted && JSON.stringify(JSON.parse(before)) === JSON.stringify(vector);
    if (!built) {
      apart++;
      if (agrees) apartGood++;
      continue;
    }
    if (agrees) good++;
    else {
      bad++;
      if (printed++ < Number(show))
        process.stdout.write(`${vector.name}\n  want ${wanted}\n  have ${actual}\n`);
    }
  }
  process.stdout.write(
    `${file}: ${good} of ${good + bad}; of features not built: ${apartGood} of ${apart}\n`,
  );
}

function answer(vector: Vector): Vector["expect"] {
  const on = (name: string): boolean => vector.features.includes(name);
  const features: Features = {
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
  const allocator = createAllocator({ features, newId: () => "" });
  for (const object of vector.slices) allocator.update({ kind: "slice", object, deleted: false });
  for (const object of vector.classes) allocator.update({ kind: "class", object, deleted: false });
  const results = (vector.allocated?.devices ?? []).map((id) => {
    const [driver = "", pool = "", device = ""] = id.split("/");
    return { request: "r", driver, pool, device };
  });
  const holder = {
    metadata: { name: "holder", namespace: "default", uid: "holder" },
    spec: {},
    status: { allocation: { devices: { results } } },
  } as unknown as ResourceClaim;
  allocator.update({ kind: "claim", object: holder, deleted: false });
  const result = allocator.allocate(vector.node, vector.claims);
  switch (result.type) {
    case "allocated":
      return { allocations: result.allocations };
    case "refused":
      return result.message === "cannot allocate all claims"
        ? { allocations: null }
        : { nodeError: result.message };
    case "error":
      return { error: result.message };
    case "stopped":
      throw new Error("stopped, though nobody asked for it");
  }
}

/** Empty fields are as good as none; texts of other programs are cut off. */
function comparable(expect: Vector["expect"]): string {
  const { allocations, error, nodeError } = expect;
  if (error !== undefined)
    return `error ${error.replace(/(CEL (compile|runtime) error:|failed to parse node selector).*/s, "$1")}`;
  if (nodeError !== undefined) return `nodeError ${nodeError}`;
  return JSON.stringify(allocations === null ? null : (allocations ?? []).map((a) => clean(a) ?? {}));
}

function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => clean(item) ?? item);
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value)
      .map(([key, item]) => [key, clean(item)] as const)
      .filter(([, item]) => item !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return entries.length === 0 ? undefined : Object.fromEntries(entries);
  }
  return value === "" || value === false || value === null ? undefined : value;
}
