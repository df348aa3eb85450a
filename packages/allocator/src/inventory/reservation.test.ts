import assert from "node:assert/strict";
import { test } from "node:test";
import { type Allocator, DeviceInUseError } from "@dray/allocator";
import type { AllocationResult, Device, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import fc from "fast-check";
import {
  allocate,
  allocatorWith,
  claim,
  devicesOf,
  meta,
  oneDevice,
  slice,
  stored,
  twoDevices,
  update,
} from "../testing/single-node.ts";

test("a reserved device is not allocated until its reservation is rolled back", () => {
  const allocator = allocatorWith(oneDevice);
  const allocation = allocate(allocator, claim("a"))!;
  const reservation = allocator.reserve([claim("a")], [allocation]);
  assert.equal(allocate(allocator, claim("b")), undefined);
  reservation.rollback();
  assert.deepEqual(devicesOf(allocate(allocator, claim("b"))), ["p/d"]);
  reservation.rollback();
  reservation.commit();
  assert.deepEqual(devicesOf(allocate(allocator, claim("b"))), ["p/d"], "an ended reservation does nothing");
});

test("reserve throws for a device that another claim has reserved since, and reserves nothing", () => {
  const allocator = allocatorWith(twoDevices);
  const both = allocate(allocator, claim("a", 2))!;
  const first = allocate(allocator, claim("b"))!;
  const held = allocator.reserve([claim("b")], [first]);
  assert.throws(() => allocator.reserve([claim("a")], [both]), DeviceInUseError);
  held.rollback();
  assert.deepEqual(devicesOf(allocate(allocator, claim("c", 2))), ["p/d0", "p/d1"]);
});

test("two claims of one reservation cannot have the same device", () => {
  const allocator = allocatorWith(oneDevice);
  const allocation = allocate(allocator, claim("a"))!;
  const twice = [allocation, allocation];
  assert.throws(() => allocator.reserve([claim("a"), claim("b")], twice), DeviceInUseError);
  assert.deepEqual(devicesOf(allocate(allocator, claim("c"))), ["p/d"]);
});

test("a committed reservation ends only when the claim arrives with its allocation", () => {
  const allocator = allocatorWith(oneDevice);
  const allocation = allocate(allocator, claim("a"))!;
  allocator.reserve([stored(claim("a"), 5)], [allocation]).commit();
  update(allocator, stored(claim("a"), 4));
  update(allocator, stored(claim("a"), 6));
  assert.equal(allocate(allocator, claim("b")), undefined);
  update(allocator, stored(claim("a"), 7, allocation));
  assert.equal(allocate(allocator, claim("b")), undefined);
  update(allocator, stored(claim("a"), 8));
  assert.deepEqual(devicesOf(allocate(allocator, claim("b"))), ["p/d"], "counted once, freed once");
});

test("the claim may arrive and be deallocated before the commit", () => {
  const allocator = allocatorWith(oneDevice);
  const allocation = allocate(allocator, claim("a"))!;
  const reservation = allocator.reserve([stored(claim("a"), 1)], [allocation]);
  update(allocator, stored(claim("a"), 2, allocation));
  update(allocator, stored(claim("a"), 3));
  assert.equal(allocate(allocator, claim("b")), undefined);
  reservation.commit();
  assert.deepEqual(devicesOf(allocate(allocator, claim("b"))), ["p/d"]);
});

test("a rollback does not free the devices of a stored allocation", () => {
  const allocator = allocatorWith(oneDevice);
  const allocation = allocate(allocator, claim("a"))!;
  const reservation = allocator.reserve([claim("a")], [allocation]);
  update(allocator, stored(claim("a"), 2, allocation));
  reservation.rollback();
  assert.equal(allocate(allocator, claim("b")), undefined);
});

test("an older state of a claim is ignored; versions compare as numbers", () => {
  const allocator = allocatorWith(oneDevice);
  const allocation = allocate(allocator, claim("a"))!;
  update(allocator, stored(claim("a"), 10, allocation));
  update(allocator, stored(claim("a"), 9));
  assert.equal(allocate(allocator, claim("b")), undefined);
  update(allocator, stored(claim("a"), 11));
  assert.deepEqual(devicesOf(allocate(allocator, claim("b"))), ["p/d"]);
});

test("an older allocation of the same device does not end a reservation", () => {
  const allocator = allocatorWith(oneDevice);
  const allocation = allocate(allocator, claim("a"))!;
  allocator.reserve([stored(claim("a"), 3)], [allocation]).commit();
  update(allocator, stored(claim("a"), 2, allocation));
  update(allocator, stored(claim("a"), 3));
  assert.equal(allocate(allocator, claim("b")), undefined);
});

test("a deleted claim frees its devices, and ends its reservation", () => {
  const allocator = allocatorWith(oneDevice);
  const allocation = allocate(allocator, claim("a"))!;
  const reservation = allocator.reserve([claim("a")], [allocation]);
  update(allocator, stored(claim("a"), 1), true);
  const next = allocate(allocator, claim("b"))!;
  allocator.reserve([claim("b")], [next]);
  reservation.rollback();
  assert.equal(allocate(allocator, claim("c")), undefined, "the old reservation does not free the new one");
});

const counted = { consumesCounters: [{ counterSet: "s", counters: { c: { value: "1" } } }] };
const worlds: readonly (readonly [what: string, slices: readonly ResourceSlice[]])[] = [
  ["two devices", [twoDevices]],
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
  test(`no order of events allocates twice: ${what}`, () => {
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

/** A pool in two slices: devices that each consume the counter, and the counter, which suffices for two. */
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

/**
 * A server, a watch that lags and repeats events, and a scheduler that follows the rules of `Reservation`.
 */
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
      for (const device of devicesOf(devices))
        assert.ok(!taken.includes(device), `${device} is allocated twice`);
      // While the watch lags, a free device may still look allocated, but never the other way round.
      assert.ok(new Set(taken).size < 2, "more is allocated than exists");
      flows.set(i, { reservation: allocator.reserve([object], [devices]), devices, written: false });
    } else if (kind === "write" && flow !== undefined && !flow.written) {
      flow.written = true;
      server[i] = stored(object, version++, flow.devices);
      happen(i, server[i]);
      update(allocator, server[i]);
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
      update(allocator, event.object, event.deleted);
    } else if (kind === "replay") {
      for (const event of events.slice(0, delivered)) {
        if (event.object.metadata.uid === object.metadata.uid) update(allocator, event.object);
      }
    }
  });
  while (delivered < events.length) {
    const event = events[delivered++]!;
    update(allocator, event.object, event.deleted);
  }
  for (const flow of flows.values()) flow.reservation.rollback();
  const taken = new Set(server.flatMap((object) => devicesOf(object.status?.allocation)));
  for (let left = 2 - taken.size; left >= 0; left--) {
    const last = claim(`last-${left}`);
    const free = allocate(allocator, last);
    assert.equal(free !== undefined, left > 0, "in the end, exactly what no claim has is free");
    if (free !== undefined) update(allocator, stored(last, version++, free));
  }
}
