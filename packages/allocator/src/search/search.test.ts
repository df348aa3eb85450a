import assert from "node:assert/strict";
import { test } from "node:test";
import type { Device, DeviceConstraint, DeviceSubRequest, ResourceClaim } from "@dray/api/resource/v1";
import { allFeatures, classes, driver, makeClaim, makeSlice, nodes } from "../testing/clusters.ts";
import { comparable } from "../testing/compare.ts";
import { allocatorOf, answerOf } from "../testing/engine.ts";
import { type Question, referenceAllocate } from "../testing/reference.ts";

type Body = Omit<DeviceSubRequest, "name">;

const attributes = `device.attributes["${driver}"]`;
const selected = (expression: string, count = 1, memory?: string): Body => ({
  deviceClassName: "any",
  allocationMode: "ExactCount",
  count,
  selectors: [{ cel: { expression } }],
  ...(memory !== undefined && { capacity: { requests: { memory } } }),
});
const ofModel = (model: string, count = 1, memory?: string): Body =>
  selected(`${attributes}.model == "${model}"`, count, memory);

/** A claim whose requests have these alternatives. */
function claim(name: string, requests: readonly (readonly Body[])[], ...constraints: DeviceConstraint[]) {
  return makeClaim(name, {
    requests: requests.map((bodies, r) => ({
      name: `r${r}`,
      firstAvailable: bodies.map((body, s) => ({ name: `s${s}`, ...body })),
    })),
    constraints,
  });
}

/** Its dead ends make the search start pruning. */
const deadEndClaim = claim("dead-ends", [[...new Array<Body>(8).fill(ofModel("none")), ofModel("spare")]]);
const spare: Device = { name: "spare", attributes: { model: { string: "spare" } } };

function question(devices: readonly Device[], claims: readonly ResourceClaim[]): Question {
  const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
  const slice = makeSlice("devices", { driver, pool, nodeName: "node-1", devices: [spare, ...devices] });
  return {
    features: allFeatures,
    node: nodes[0]!,
    classes,
    slices: [slice],
    claims: [deadEndClaim, ...claims],
  };
}

/** Returns the devices of each claim except the first, and compares with the reference. */
function allocatedDevices(asked: Question): readonly string[][] | null {
  const answer = answerOf(allocatorOf(asked).allocate(asked.node, asked.claims));
  assert.deepEqual(comparable(answer), comparable(referenceAllocate(asked)));
  assert.ok("allocations" in answer);
  const [, ...others] = answer.allocations ?? [];
  return (
    answer.allocations && others.map(({ devices }) => (devices?.results ?? []).map(({ device }) => device))
  );
}

test("states with equal shares in different claims are not equal: the limit of a claim differs", () => {
  const shared = (name: string, memory: string): Device => ({
    name,
    attributes: { model: { string: name } },
    allowMultipleAllocations: true,
    capacity: { memory: { value: memory, requestPolicy: { default: "1", validRange: { min: "1" } } } },
  });
  const both = selected(`${attributes}.model in ["x", "y"]`, 2, "1");
  const many = Array.from({ length: 31 }, (_, i) => ({
    name: `z${i}`,
    attributes: { model: { string: "z" } },
  }));
  const asked = question(
    [shared("x", "10"), shared("y", "10"), ...many],
    [
      claim("a", [[ofModel("x", 1, "6"), both]]),
      claim("b", [[both, ofModel("x", 1, "6")], [ofModel("z", 31)]]),
    ],
  );
  assert.deepEqual(allocatedDevices(asked), [
    ["x", "y"],
    ["x", ...many.map(({ name }) => name)],
  ]);
});

test("large integers that differ by one are different", () => {
  const device = (name: string, int: bigint): Device => ({
    name,
    attributes: { model: { string: "a" }, n: { int } },
  });
  const large = 2n ** 53n;
  const asked = question(
    [device("a", large), device("b", large + 1n), device("c", large + 1n), device("d", large)],
    [claim("c", [[ofModel("a", 2)]], { matchAttribute: `${driver}/n` })],
  );
  assert.deepEqual(allocatedDevices(asked), [["a", "d"]]);
});

test("a list of strings differs from the string that looks like it", () => {
  const strings = (name: string, model: string, value: object, more: object = {}): Device => ({
    name,
    attributes: { model: { string: model }, n: value, ...more },
  });
  const joined = { string: "x,string y" };
  const asked = question(
    [
      strings("joined", "a", joined),
      strings("list", "a", { strings: ["x", "y"] }),
      strings("wanted", "b", joined, { wanted: { bool: true } }),
      strings("one", "b", { string: "x" }),
    ],
    [
      claim("c", [[ofModel("a")], [ofModel("a")], [ofModel("b")], [selected(`"wanted" in ${attributes}`)]], {
        requests: ["r0", "r2"],
        matchAttribute: `${driver}/n`,
      }),
    ],
  );
  assert.deepEqual(allocatedDevices(asked), [["list", "joined", "one", "wanted"]]);
});
