import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Node } from "@dray/api/core/v1";
import type {
  AllocationResult,
  Device,
  DeviceClass,
  ResourceClaim,
  ResourceSlice,
} from "@dray/api/resource/v1";
import fc from "fast-check";
import { type Allocator, allocatorFeatures, createAllocator, DeviceInUseError } from "./index.ts";

const meta = (name: string): ResourceClaim["metadata"] => ({
  name,
  namespace: "default",
  uid: `uid-of-${name}`,
  resourceVersion: "",
  creationTimestamp: "",
});

const node: Node = { apiVersion: "v1", kind: "Node", metadata: meta("worker"), spec: {}, status: {} };
const gpus: DeviceClass = {
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceClass",
  metadata: meta("gpu"),
  spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }] },
};

function slice(name: string, devices: NonNullable<ResourceSlice["spec"]["devices"]>): ResourceSlice {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: meta(name),
    spec: {
      driver: "gpu.example.com",
      nodeName: "worker",
      pool: { name, generation: 1, resourceSliceCount: 1 },
      devices,
    },
  };
}

function claim(name: string, count = 1, expression?: string): ResourceClaim {
  const selectors = expression === undefined ? {} : { selectors: [{ cel: { expression } }] };
  const exactly = { deviceClassName: "gpu", allocationMode: "ExactCount", count, ...selectors };
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: meta(name),
    spec: { devices: { requests: [{ name: "r", exactly }] } },
  };
}

function stored(object: ResourceClaim, version: number, allocation?: AllocationResult): ResourceClaim {
  const metadata = { ...object.metadata, resourceVersion: String(version) };
  return { ...object, metadata, ...(allocation === undefined ? {} : { status: { allocation } }) };
}

function allocatorWith(...slices: ResourceSlice[]): Allocator {
  const on = [
    "DRAAdminAccess",
    "DRAPrioritizedList",
    "DRADeviceTaints",
    "DRAConsumableCapacity",
    "DRAPartitionableDevices",
  ];
  const features = allocatorFeatures({ enabled: (gate) => on.includes(gate) });
  let ids = 0;
  const allocator = createAllocator({ features, newId: () => `share-${ids++}` });
  allocator.update({ kind: "class", object: gpus, deleted: false });
  for (const object of slices) allocator.update({ kind: "slice", object, deleted: false });
  return allocator;
}

function allocate(allocator: Allocator, object: ResourceClaim): AllocationResult | undefined {
  const result = allocator.allocate(node, [object]);
  if (result.type === "refused") return undefined;
  assert.equal(result.type, "allocated", JSON.stringify(result));
  return result.type === "allocated" ? result.allocations[0] : undefined;
}

const devicesOf = (allocation: AllocationResult | undefined): string[] =>
  (allocation?.devices?.results ?? []).map(
    ({ pool, device, shareID }) => `${pool}/${device}${shareID === undefined ? "" : `/${shareID}`}`,
  );
const see = (allocator: Allocator, object: ResourceClaim, deleted = false): void =>
  allocator.update({ kind: "claim", object, deleted });

const one = slice("p", [{ name: "d" }]);
const two = slice("p", [{ name: "d0" }, { name: "d1" }]);

describe("order", () => {
  test("pools by name, devices as published", () => {
    const allocator = allocatorWith(slice("b", [{ name: "x" }]), slice("a", [{ name: "z" }, { name: "y" }]));
    assert.deepEqual(devicesOf(allocate(allocator, claim("c", 3))), ["a/z", "a/y", "b/x"]);
  });

  test("an earlier request gives up its first choice for a later one", () => {
    const allocator = allocatorWith(
      slice("p", [
        { name: "d0", attributes: { big: { bool: true } } },
        { name: "d1", attributes: { big: { bool: false } } },
      ]),
    );
    const big = 'device.attributes["gpu.example.com"].big';
    const result = allocator.allocate(node, [claim("any"), claim("big", 1, big)]);
    assert.equal(result.type, "allocated");
    if (result.type !== "allocated") return;
    assert.deepEqual(result.allocations.map(devicesOf), [["p/d1"], ["p/d0"]]);
  });
});

describe("reservations", () => {
  test("a reserved device is not given, and is again after a rollback", () => {
    const allocator = allocatorWith(one);
    const allocation = allocate(allocator, claim("a"))!;
    const reservation = allocator.reserve([claim("a")], [allocation]);
    assert.equal(allocate(allocator, claim("b")), undefined);
    reservation.rollback();
    assert.deepEqual(devicesOf(allocate(allocator, claim("b"))), ["p/d"]);
    reservation.rollback();
    reservation.commit();
    assert.deepEqual(
      devicesOf(allocate(allocator, claim("b"))),
      ["p/d"],
      "an ended reservation does nothing",
    );
  });

  test("a device that another claim took since is refused, and nothing is taken", () => {
    const allocator = allocatorWith(two);
    const both = allocate(allocator, claim("a", 2))!;
    const first = allocate(allocator, claim("b"))!;
    const held = allocator.reserve([claim("b")], [first]);
    assert.throws(() => allocator.reserve([claim("a")], [both]), DeviceInUseError);
    held.rollback();
    assert.deepEqual(devicesOf(allocate(allocator, claim("c", 2))), ["p/d0", "p/d1"]);
  });

  test("two claims of one reservation cannot have one device", () => {
    const allocator = allocatorWith(one);
    const allocation = allocate(allocator, claim("a"))!;
    const twice = [allocation, allocation];
    assert.throws(() => allocator.reserve([claim("a"), claim("b")], twice), DeviceInUseError);
    assert.deepEqual(devicesOf(allocate(allocator, claim("c"))), ["p/d"]);
  });

  test("commit holds until the claim arrives; states without the allocation do not end it", () => {
    const allocator = allocatorWith(one);
    const allocation = allocate(allocator, claim("a"))!;
    allocator.reserve([stored(claim("a"), 5)], [allocation]).commit();
    see(allocator, stored(claim("a"), 4));
    see(allocator, stored(claim("a"), 6));
    assert.equal(allocate(allocator, claim("b")), undefined);
    see(allocator, stored(claim("a"), 7, allocation));
    assert.equal(allocate(allocator, claim("b")), undefined);
    see(allocator, stored(claim("a"), 8));
    assert.deepEqual(devicesOf(allocate(allocator, claim("b"))), ["p/d"], "counted once, freed once");
  });

  test("the claim may arrive, and be deallocated, before the commit", () => {
    const allocator = allocatorWith(one);
    const allocation = allocate(allocator, claim("a"))!;
    const reservation = allocator.reserve([stored(claim("a"), 1)], [allocation]);
    see(allocator, stored(claim("a"), 2, allocation));
    see(allocator, stored(claim("a"), 3));
    assert.equal(allocate(allocator, claim("b")), undefined);
    reservation.commit();
    assert.deepEqual(devicesOf(allocate(allocator, claim("b"))), ["p/d"]);
  });

  test("a rollback does not free what is stored all the same", () => {
    const allocator = allocatorWith(one);
    const allocation = allocate(allocator, claim("a"))!;
    const reservation = allocator.reserve([claim("a")], [allocation]);
    see(allocator, stored(claim("a"), 2, allocation));
    reservation.rollback();
    assert.equal(allocate(allocator, claim("b")), undefined);
  });

  test("an older state frees nothing; versions are numbers", () => {
    const allocator = allocatorWith(one);
    const allocation = allocate(allocator, claim("a"))!;
    see(allocator, stored(claim("a"), 10, allocation));
    see(allocator, stored(claim("a"), 9));
    assert.equal(allocate(allocator, claim("b")), undefined);
    see(allocator, stored(claim("a"), 11));
    assert.deepEqual(devicesOf(allocate(allocator, claim("b"))), ["p/d"]);
  });

  test("an older allocation of the same device does not end a reservation", () => {
    const allocator = allocatorWith(one);
    const allocation = allocate(allocator, claim("a"))!;
    allocator.reserve([stored(claim("a"), 3)], [allocation]).commit();
    see(allocator, stored(claim("a"), 2, allocation));
    see(allocator, stored(claim("a"), 3));
    assert.equal(allocate(allocator, claim("b")), undefined);
  });

  test("a deleted claim holds nothing, whatever becomes of its reservation", () => {
    const allocator = allocatorWith(one);
    const allocation = allocate(allocator, claim("a"))!;
    const reservation = allocator.reserve([claim("a")], [allocation]);
    see(allocator, stored(claim("a"), 1), true);
    const next = allocate(allocator, claim("b"))!;
    allocator.reserve([claim("b")], [next]);
    reservation.rollback();
    assert.equal(allocate(allocator, claim("c")), undefined, "the old reservation does not free the new one");
  });

  const counted = { consumesCounters: [{ counterSet: "s", counters: { c: { value: "1" } } }] };
  const worlds: readonly (readonly [what: string, slices: readonly ResourceSlice[]])[] = [
    ["two devices", [two]],
    [
      "two shares of a device",
      [
        slice("p", [
          {
            name: "d",
            allowMultipleAllocations: true,
            capacity: { memory: { value: "2", requestPolicy: { default: "1" } } },
          },
        ]),
      ],
    ],
    ["counters for two of four devices", inTwoSlices(["d0", "d1", "d2", "d3"], counted)],
  ];
  for (const [what, slices] of worlds)
    test(`in any order nothing is given twice: ${what}`, () => {
      const claims = 4;
      const step = fc.tuple(
        fc.constantFrom("place", "write", "commit", "rollback", "deallocate", "delete", "deliver", "replay"),
        fc.nat(claims - 1),
      );
      fc.assert(
        fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
          simulate(claims, steps, slices);
        }),
        { numRuns: 400, seed: 1 },
      );
    });
});

/** A pool of devices and what they count on: two of the counter. */
function inTwoSlices(names: readonly string[], more: Partial<Device>): ResourceSlice[] {
  const devices = slice(
    "p",
    names.map((name) => ({ ...more, name })),
  );
  const pool = { ...devices.spec.pool, resourceSliceCount: 2 };
  const { devices: _, ...spec } = devices.spec;
  const sharedCounters = [{ name: "s", counters: { c: { value: "2" } } }];
  return [
    { ...devices, spec: { ...devices.spec, pool } },
    { ...devices, metadata: meta("counters"), spec: { ...spec, pool, sharedCounters } },
  ];
}

/** A server, a watch that lags behind and repeats itself, and a scheduler that keeps to the rules of `Reservation`. */
function simulate(
  claims: number,
  steps: readonly (readonly [string, number])[],
  slices: readonly ResourceSlice[],
): void {
  const allocator = allocatorWith(...slices);
  let version = 1;
  const server = Array.from({ length: claims }, (_, i) => stored(claim(`c${i}-first`), version++));
  const flows = new Map<
    number,
    { reservation: ReturnType<Allocator["reserve"]>; devices: AllocationResult; written: boolean }
  >();
  const events: { i: number; object: ResourceClaim; deleted: boolean }[] = [];
  let delivered = 0;
  const happen = (i: number, object: ResourceClaim, deleted = false): void => {
    events.push({ i, object, deleted });
  };
  steps.forEach(([kind, i], turn) => {
    const object = server[i]!;
    const flow = flows.get(i);
    const allocation = object.status?.allocation;
    if (kind === "place" && flow === undefined && allocation === undefined) {
      const devices = allocate(allocator, object);
      if (devices === undefined) return;
      const taken = [
        ...server.flatMap((other) => devicesOf(other.status?.allocation)),
        ...[...flows.values()].flatMap((other) => devicesOf(other.devices)),
      ];
      for (const device of devicesOf(devices)) assert.ok(!taken.includes(device), `${device} is given twice`);
      // While a watch lags behind, what is free may not be known yet, never what is taken.
      assert.ok(new Set(taken).size < 2, "more is given than there is");
      flows.set(i, { reservation: allocator.reserve([object], [devices]), devices, written: false });
    } else if (kind === "write" && flow !== undefined && !flow.written) {
      flow.written = true;
      server[i] = stored(object, version++, flow.devices);
      happen(i, server[i]);
      see(allocator, server[i]);
    } else if (kind === "commit" && flow?.written) {
      flow.reservation.commit();
      flows.delete(i);
    } else if (kind === "rollback" && flow !== undefined) {
      flow.reservation.rollback();
      flows.delete(i);
    } else if (kind === "deallocate" && flow === undefined && allocation !== undefined) {
      const { status: _, ...rest } = object;
      server[i] = stored(rest, version++);
      happen(i, server[i]);
    } else if (kind === "delete" && flow === undefined) {
      happen(i, object, true);
      server[i] = stored(claim(`c${i}-${turn}`), version++);
      happen(i, server[i]);
    } else if (kind === "deliver" && delivered < events.length) {
      const event = events[delivered++]!;
      see(allocator, event.object, event.deleted);
    } else if (kind === "replay") {
      for (const event of events.slice(0, delivered)) {
        if (event.object.metadata.uid === object.metadata.uid) see(allocator, event.object);
      }
    }
  });
  while (delivered < events.length) {
    const event = events[delivered++]!;
    see(allocator, event.object, event.deleted);
  }
  for (const flow of flows.values()) flow.reservation.rollback();
  const taken = new Set(server.flatMap((object) => devicesOf(object.status?.allocation)));
  for (let left = 2 - taken.size; left >= 0; left--) {
    const last = claim(`last-${left}`);
    const free = allocate(allocator, last);
    assert.equal(free !== undefined, left > 0, "what nobody holds, and no more, is free in the end");
    if (free !== undefined) see(allocator, stored(last, version++, free));
  }
}

describe("stop and resume", () => {
  const many = slice(
    "p",
    Array.from({ length: 12 }, (_, i) => ({ name: `d${i}`, attributes: { index: { int: i } } })),
  );
  const only = (name: string, index: number): ResourceClaim =>
    claim(name, 1, `device.attributes["gpu.example.com"].index == ${index}`);
  // The last claim needs what the second one tries first: hundreds of combinations come before the solution.
  const slow = [only("third", 3), claim("any", 5), only("first", 0)];

  test("a search stopped at every turn ends with the same answer", () => {
    const allocator = allocatorWith(many);
    const refused = [claim("any", 5), claim("none", 1, 'device.driver == "no" || false')];
    let turns = 0;
    let result = allocator.allocate(node, refused, { shouldStop: () => true });
    while (result.type === "stopped") {
      turns++;
      result = result.resume();
    }
    assert.ok(turns > 3, `stopped ${turns} times`);
    assert.deepEqual(result, allocator.allocate(node, refused));
    assert.equal(result.type, "refused");
  });

  for (const [index, type] of [
    [3, "refused"],
    [1, "allocated"],
  ] as const) {
    test(`device d${index} is taken while the search stands still: ${type}, and not with it`, () => {
      const allocator = allocatorWith(many);
      let result = allocator.allocate(node, slow, { shouldStop: () => true });
      assert.equal(result.type, "stopped");
      const quick = only("quick", index);
      allocator.reserve([quick], [allocate(allocator, quick)!]);
      while (result.type === "stopped") result = result.resume();
      assert.equal(result.type, type);
      const given = result.type === "allocated" ? result.allocations.flatMap(devicesOf) : [];
      assert.ok(!given.includes(`p/d${index}`), "given twice");
    });
  }
});

describe("explain", () => {
  test("says what became of every device, by the first check that ruled it out", () => {
    const allocator = allocatorWith(
      slice("p", [
        { name: "small", attributes: { big: { bool: false } } },
        {
          name: "tainted",
          attributes: { big: { bool: true } },
          taints: [{ key: "broken", effect: "NoSchedule" }],
        },
        { name: "held", attributes: { big: { bool: true } } },
        { name: "good", attributes: { big: { bool: true } } },
      ]),
    );
    const results = [{ request: "r", driver: "gpu.example.com", pool: "p", device: "held" }];
    see(allocator, stored(claim("other"), 1, { devices: { results } }));
    const big = 'device.attributes["gpu.example.com"].big';
    const explanation = allocator.explain(node, [claim("c", 2, big)]);
    const names = (device: string): string[] => [`gpu.example.com/p/${device}`];
    assert.deepEqual(explanation, {
      node: "worker",
      outcome: "refused",
      message: "cannot allocate all claims",
      claims: [
        {
          claim: "default/c",
          requests: [
            {
              request: "r",
              deviceClass: "gpu",
              wanted: 2,
              seen: 4,
              suitable: 1,
              chosen: names("good"),
              refused: [
                {
                  check: "request-selector",
                  cause: big,
                  selector: { expression: big, values: { "gpu.example.com/big": false } },
                  count: 1,
                  devices: names("small"),
                },
                {
                  check: "taint",
                  cause: "untolerated taint broken:NoSchedule",
                  taint: { key: "broken", effect: "NoSchedule" },
                  count: 1,
                  devices: names("tainted"),
                },
                {
                  check: "in-use",
                  cause: "allocated to claim default/other",
                  holder: "default/other",
                  count: 1,
                  devices: names("held"),
                },
              ],
            },
          ],
        },
      ],
    });
  });

  test("an explanation names five devices of each group, or all and those that are suitable", () => {
    const many = Array.from({ length: 8 }, (_, i) => ({
      name: `d${i}`,
      ...(i < 7 && { taints: [{ key: "broken", effect: "NoSchedule" }] }),
    }));
    const allocator = allocatorWith(slice("p", many));
    const [few, all] = [undefined, { allDevices: true }].map(
      (options) => allocator.explain(node, [claim("c")], options).claims[0]!.requests[0]!,
    );
    assert.deepEqual([few!.refused[0]!.devices.length, few!.suitableDevices], [5, undefined]);
    assert.deepEqual([all!.refused[0]!.devices.length, all!.suitableDevices], [7, ["gpu.example.com/p/d7"]]);
  });

  test("a device that class or request would not take is not in use to it, and a selector that fails there is no reason", () => {
    const nic = slice("nics", [{ name: "nic", attributes: { big: { bool: true } } }]);
    const allocator = allocatorWith(
      { ...nic, spec: { ...nic.spec, driver: "nic.example.com" } },
      slice("p", [
        { name: "small", attributes: { big: { bool: false } } },
        { name: "big", attributes: { big: { bool: true } } },
        { name: "unlabelled" },
      ]),
    );
    const held = [
      ["nic.example.com", "nics", "nic"],
      ["gpu.example.com", "p", "small"],
      ["gpu.example.com", "p", "big"],
      ["gpu.example.com", "p", "unlabelled"],
    ].map(([driver = "", pool = "", device = ""]) => ({ request: "r", driver, pool, device }));
    see(allocator, stored(claim("other"), 1, { devices: { results: held } }));
    const expression = 'device.attributes["gpu.example.com"].big';
    const { outcome, claims } = allocator.explain(node, [claim("c", 1, expression)]);
    // The search never asked the selector about the device on which it fails.
    assert.equal(outcome, "refused");
    assert.deepEqual(
      claims[0]!.requests[0]!.refused.map(({ check, devices }) => [check, devices]),
      [
        ["in-use", ["gpu.example.com/p/big", "gpu.example.com/p/unlabelled"]],
        ["request-selector", ["gpu.example.com/p/small"]],
        ["class-selector", ["nic.example.com/nics/nic"]],
      ],
    );
  });

  test("a claim without a namespace is called by its name alone", () => {
    const allocator = allocatorWith(one);
    const { namespace: _, ...metadata } = meta("mine");
    const mine = { ...claim("mine", 40), metadata } as ResourceClaim;
    const nowhere = { ...mine, metadata: { ...metadata, namespace: "" } };
    for (const object of [mine, nowhere]) {
      const result = allocator.allocate(node, [object]);
      assert.equal(result.type, "error");
      assert.match(result.type === "error" ? result.message : "", /^claim mine, request r: /);
      assert.equal(allocator.explain(node, [object]).claims[0]!.claim, "mine");
    }
  });

  test("a constraint is told with the values that differ, as the deepest partial solution met it", () => {
    const numa = (name: string, value: number): Device => ({ name, attributes: { numa: { int: value } } });
    const allocator = allocatorWith(slice("p", [numa("a", 0), numa("b", 0), numa("c", 1)]));
    const constraints = [{ matchAttribute: "gpu.example.com/numa" }];
    const wanted = claim("c", 3);
    const explanation = allocator.explain(node, [
      { ...wanted, spec: { devices: { ...wanted.spec.devices, constraints } } },
    ]);
    const [request] = explanation.claims[0]!.requests;
    assert.deepEqual(request!.chosen, ["gpu.example.com/p/a", "gpu.example.com/p/b"]);
    assert.deepEqual(request!.refused, [
      {
        check: "constraint",
        cause: "matchAttribute gpu.example.com/numa: 1 here, 0 on gpu.example.com/p/a",
        constraint: {
          kind: "matchAttribute",
          attribute: "gpu.example.com/numa",
          value: 1,
          other: 0,
          otherDevice: "gpu.example.com/p/a",
        },
        count: 1,
        devices: ["gpu.example.com/p/c"],
      },
    ]);
  });

  test("a success names what each request gets", () => {
    const explanation = allocatorWith(one).explain(node, [claim("c")]);
    assert.equal(explanation.outcome, "allocated");
    assert.deepEqual(explanation.claims[0]!.requests[0]!.chosen, ["gpu.example.com/p/d"]);
  });

  test("a class that is missing and a selector that fails are told", () => {
    const allocator = allocatorWith(one);
    const bad = allocator.explain(node, [claim("c", 1, 'device.attributes["x"].nosuch')]);
    assert.match(bad.claims[0]!.requests[0]!.refused[0]!.cause, /no such key: nosuch/);
    allocator.update({ kind: "class", object: gpus, deleted: true });
    const missing = allocator.explain(node, [claim("c")]).claims[0]!.requests[0]!.refused[0]!;
    assert.deepEqual(
      [missing.check, missing.cause],
      [
        "error",
        'claim default/c, request r: could not retrieve device class gpu: deviceclass.resource.k8s.io "gpu" not found',
      ],
    );
  });
});

test("what a call has found out stays known when it is ended after an evaluation", () => {
  const costs: number[] = [];
  const allocator = createAllocator({
    features: allocatorFeatures({ enabled: () => false }),
    newId: () => "",
    evaluated(cost) {
      costs.push(cost);
      throw new Error("over");
    },
  });
  allocator.update({ kind: "class", object: gpus, deleted: false });
  const devices = [0, 1, 2].map((i) => ({ name: `gpu-${i}`, attributes: { index: { int: BigInt(i) } } }));
  allocator.update({ kind: "slice", object: slice("s", devices as Device[]), deleted: false });
  const wanted = claim("c", 1, 'device.attributes["gpu.example.com"].index == 2');
  const outcome = (call: () => unknown): unknown => {
    try {
      return call();
    } catch (error) {
      return (error as Error).message;
    }
  };
  // Two selectors on each of three devices.
  for (let i = 0; i < 3; i++)
    assert.equal(
      outcome(() => allocator.candidates([wanted])?.has("worker")),
      "over",
    );
  for (let i = 0; i < 3; i++)
    assert.equal(
      outcome(() => allocator.allocate(node, [wanted])),
      "over",
    );
  assert.equal(allocator.candidates([wanted])?.has("worker"), true);
  assert.equal(allocator.allocate(node, [wanted]).type, "allocated");
  assert.equal(costs.length, 6);
  assert.ok(costs.every((cost) => cost > 0));
});

test("totals: the devices of a class on a node, and those that claims have", () => {
  const other = { ...slice("others", [{ name: "o" }]), metadata: meta("others") };
  const allocator = allocatorWith(slice("gpus", [{ name: "a" }, { name: "b" }, { name: "c" }]), {
    ...other,
    spec: { ...other.spec, driver: "nic.example.com" },
  } as ResourceSlice);
  assert.deepEqual(allocator.totals(node, "gpu"), { devices: 3, allocated: 0 });
  const wanted = claim("c", 2);
  const result = allocator.allocate(node, [wanted]);
  assert.equal(result.type, "allocated");
  if (result.type === "allocated") allocator.reserve([wanted], result.allocations);
  assert.deepEqual(allocator.totals(node, "gpu"), { devices: 3, allocated: 2 });
  assert.deepEqual(allocator.totals({ ...node, metadata: meta("elsewhere") }, "gpu"), {
    devices: 0,
    allocated: 0,
  });
  assert.deepEqual(allocator.totals(node, "none"), { devices: 0, allocated: 0 });
});
