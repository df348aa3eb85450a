/** What random clusters seldom show. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Allocator, DeviceInUseError } from "@dray/allocator";
import type {
  Device,
  DeviceTaintRule,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceSlice,
} from "@dray/api/resource/v1";
import { allFeatures, classes, driver, makeClaim, makeSlice, nodes } from "../test/clusters.ts";
import { emptyAllocator, withAllocation } from "../test/engine.ts";

const [node, other] = nodes as readonly [(typeof nodes)[number], (typeof nodes)[number]];

function allocatorWith(...slices: readonly ResourceSlice[]): Allocator {
  const allocator = emptyAllocator(allFeatures);
  for (const object of classes) allocator.update({ kind: "class", object, deleted: false });
  for (const object of slices) allocator.update({ kind: "slice", object, deleted: false });
  return allocator;
}

function slice(name: string, devices: readonly Device[], more: Partial<ResourceSlice["spec"]> = {}) {
  const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
  return makeSlice(name, { driver, pool, nodeName: node.metadata.name, devices: [...devices], ...more });
}

function claim(name: string, ...requests: readonly Partial<ExactDeviceRequest>[]): ResourceClaim {
  return makeClaim(name, {
    requests: requests.map((request, i) => ({
      name: `r${i}`,
      exactly: { deviceClassName: "any", allocationMode: "ExactCount", count: 1, ...request },
    })),
  });
}

const named = (count: number): Device[] => Array.from({ length: count }, (_, i) => ({ name: `d${i}` }));

/** Gives the claim a device on the node, as stored. */
function give(allocator: Allocator, object: ResourceClaim, where = node): ResourceClaim {
  const result = allocator.allocate(where, [object]);
  assert.equal(result.type, "allocated");
  const stored = withAllocation(object, result.type === "allocated" ? result.allocations[0]! : {});
  allocator.update({ kind: "claim", object: stored, deleted: false });
  return stored;
}

describe("candidates", () => {
  test("a claim that asks for too many devices is an error everywhere: no node is left out", () => {
    const allocator = allocatorWith(slice("s", named(4)));
    const asked = claim("c", { count: 20 }, { count: 20 });
    assert.equal(allocator.allocate(node, [asked]).type, "error");
    assert.equal(allocator.candidates([asked]), undefined);
  });

  test("a device that is freed on one node leaves counters to the others that share them", () => {
    const pool = { name: "p", generation: 1, resourceSliceCount: 3 };
    const consumesCounters = [{ counterSet: "s", counters: { c: { value: "1" } } }];
    const { devices: _, ...counters } = slice("c", [], { pool }).spec;
    const allocator = allocatorWith(
      slice("a", [{ name: "a", consumesCounters }], { pool }),
      slice("b", [{ name: "b", consumesCounters }], { pool, nodeName: other.metadata.name }),
      makeSlice("c", { ...counters, sharedCounters: [{ name: "s", counters: { c: { value: "1" } } }] }),
    );
    const asked = [claim("asked", {})];
    const has = (): boolean | undefined => allocator.candidates(asked)?.has(other.metadata.name);
    assert.equal(has(), true);
    const object = give(allocator, claim("holder", {}));
    assert.equal(allocator.allocate(other, asked).type, "refused");
    assert.equal(has(), false);
    allocator.update({ kind: "claim", object, deleted: true });
    assert.equal(allocator.allocate(other, asked).type, "allocated");
    assert.equal(has(), true);
  });
});

test("a reservation finds out that a capacity is used up, also right after the slice was published anew", () => {
  const shared: Device = {
    name: "d",
    allowMultipleAllocations: true,
    capacity: { memory: { value: "3" } },
  };
  const allocator = allocatorWith(slice("s", [shared]));
  const asked = ["a", "b"].map((name) => claim(name, { capacity: { requests: { memory: "2" } } }));
  const results = asked.map((one) => allocator.allocate(node, [one]));
  allocator.update({ kind: "slice", object: slice("s", [{ ...shared, attributes: {} }]), deleted: false });
  const reserve = (i: number) => {
    const result = results[i]!;
    assert.ok(result.type === "allocated");
    return allocator.reserve([asked[i]!], result.allocations);
  };
  reserve(0);
  assert.throws(() => reserve(1), DeviceInUseError);
});

test("a device that was tainted while the search stood still is not given", () => {
  const allocator = allocatorWith(slice("s", named(2)));
  const asked = claim("c", {}, {});
  const stopped = allocator.allocate(node, [asked], { shouldStop: () => true });
  assert.ok(stopped.type === "stopped");
  const rule: DeviceTaintRule = {
    apiVersion: "resource.k8s.io/v1beta2",
    kind: "DeviceTaintRule",
    metadata: { name: "r", uid: "", resourceVersion: "", creationTimestamp: "" },
    spec: { deviceSelector: { device: "d0" }, taint: { key: "k", effect: "NoSchedule" } },
  };
  allocator.update({ kind: "rule", object: rule, deleted: false });
  let result = stopped.resume();
  while (result.type === "stopped") result = result.resume();
  assert.equal(result.type, "refused");
});

test("a tolerance with an operator that nobody knows tolerates nothing", () => {
  const allocator = allocatorWith(slice("s", [{ name: "d", taints: [{ key: "k", effect: "NoSchedule" }] }]));
  const asked = claim("c", { tolerations: [{ key: "k", operator: "toString" }] });
  assert.equal(allocator.allocate(node, [asked]).type, "refused");
});

test("an explanation knows that no allocation can be written of a solution", () => {
  const term = (value: string) => ({
    matchExpressions: [{ key: "zone", operator: "In", values: [value] }],
  });
  const { nodeName: _, ...spec } = slice("s", [
    { name: "d", nodeSelector: { nodeSelectorTerms: [term("a"), term("b")] } },
  ]).spec;
  const allocator = allocatorWith(makeSlice("s", { ...spec, perDeviceNodeSelection: true }));
  const asked = [claim("c", {})];
  const result = allocator.allocate(node, asked);
  assert.ok(result.type === "error");
  const { outcome, message } = allocator.explain(node, asked);
  assert.deepEqual({ outcome, message }, { outcome: "error", message: result.message });
});

test("names that objects have of themselves are names like others", () => {
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const one = (value: unknown) => Object.fromEntries([[name, value]]);
    const pool = { name, generation: 1, resourceSliceCount: 2 };
    const device: Device = {
      name: "d",
      attributes: one({ string: "a" }) as NonNullable<Device["attributes"]>,
      capacity: one({ value: "2" }) as NonNullable<Device["capacity"]>,
      allowMultipleAllocations: true,
      consumesCounters: [
        { counterSet: name, counters: one({ value: "1" }) as Record<string, { value: string }> },
      ],
    };
    const sharedCounters = [{ name, counters: one({ value: "1" }) as Record<string, { value: string }> }];
    const { devices: _, ...spec } = slice(name, [], { pool }).spec;
    const allocator = allocatorWith(
      slice("s", [device], { pool }),
      makeSlice("c", { ...spec, sharedCounters }),
    );
    const expression = `device.attributes["${driver}"]["${name}"] == "a" && device.capacity["${driver}"]["${name}"].asInteger() == 2`;
    const requests = one("1") as Record<string, string>;
    const asked = makeClaim(name, {
      requests: [
        {
          name,
          exactly: {
            deviceClassName: "any",
            allocationMode: "ExactCount",
            count: 1,
            selectors: [{ cel: { expression } }],
            capacity: { requests },
          },
        },
      ],
      constraints: [{ matchAttribute: `${driver}/${name}` }],
    });
    const stored = give(allocator, asked);
    const consumed = stored.status?.allocation?.devices?.results?.[0]?.consumedCapacity;
    assert.deepEqual(Object.entries(consumed ?? {}), [[name, "1"]]);
    const explained = allocator.explain(node, [asked]);
    assert.equal(explained.claims[0]!.requests[0]!.suitable, 1);
    assert.deepEqual(JSON.parse(JSON.stringify(explained)), explained);
  }
});
