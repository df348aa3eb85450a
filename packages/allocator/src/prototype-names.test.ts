import assert from "node:assert/strict";
import { test } from "node:test";
import type { Device } from "@dray/api/resource/v1";
import { allocateAndStore, allocatorWith, node, slice } from "./testing/all-features.ts";
import { driver, makeClaim, makeSlice } from "./testing/clusters.ts";

test("names of properties that every object has are ordinary names", () => {
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
    const stored = allocateAndStore(allocator, asked);
    const consumed = stored.status?.allocation?.devices?.results?.[0]?.consumedCapacity;
    assert.deepEqual(Object.entries(consumed ?? {}), [[name, "1"]]);
    const explained = allocator.explain(node, [asked]);
    assert.equal(explained.claims[0]!.requests[0]!.suitable, 1);
    assert.deepEqual(JSON.parse(JSON.stringify(explained)), explained);
  }
});
