import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Choice, chooseDevices } from "./choice.ts";
import { type Device, numaAffinity } from "./topology.ts";

/** `a0 b0 c1 d`: names of devices, with their NUMA nodes. */
const devices = (text: string): Device[] =>
  text
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => ({ id: word.slice(0, 1), healthy: true, numaNodes: [...word.slice(1)].map(Number) }));

const affinityOf = (...requests: readonly [count: number, devices: string][]): string | undefined => {
  const nodes = numaAffinity(requests.map(([count, text]) => ({ count, devices: devices(text) })));
  return nodes === undefined ? undefined : [...nodes].join("");
};

test("the smallest set of NUMA nodes that has enough counts, of those of one size the lowest", () => {
  assert.equal(affinityOf([1, "a0 b1"]), "0");
  assert.equal(affinityOf([2, "a0 b1 c1"]), "1");
  assert.equal(affinityOf([3, "a0 b1 c1"]), "01");
  assert.equal(affinityOf([2, "a0 b12 c2 d1"]), "1");
  // A GPU and a NIC of one node.
  assert.equal(affinityOf([1, "a0 b1"], [1, "x1 y2"]), "1");
  assert.equal(affinityOf([1, "a0"], [1, "x2"]), "02");
  // Devices without topology match any node.
  assert.equal(affinityOf([1, "a b"]), undefined);
  assert.equal(affinityOf([1, "a0 b1"], [5, "x y"]), "0");
  // Too few devices, or too many nodes to try all combinations.
  assert.equal(affinityOf([4, "a0 b1 c1"]), undefined);
  assert.equal(affinityOf([1, "a0 b1 c2 d3 e4 f5 g6 h7 i8"]), undefined);
  assert.equal(affinityOf([3, "a7 b3 c3 d3"]), "3");
});

async function choose(
  available: string,
  {
    required,
    reusable = "",
    preferred,
    policy = "none",
    affinity = "",
  }: {
    required: number;
    reusable?: string;
    preferred?: string;
    policy?: Choice["policy"];
    affinity?: string;
  },
): Promise<string> {
  const asked: string[] = [];
  const chosen = await chooseDevices({
    resource: "r",
    required,
    reusable: new Set(reusable),
    available: devices(available),
    affinity: affinity === "" ? undefined : new Set([...affinity].map(Number)),
    policy,
    async preferred(among, must, size) {
      if (preferred === undefined) return undefined;
      asked.push(`${size} of ${among.join("")}${must.length > 0 ? ` with ${must.join("")}` : ""}`);
      return [...preferred];
    },
  });
  return [[...chosen].join(""), ...asked].join(" / ");
}

test("reusable devices come first, and suffice where there are enough", async () => {
  assert.equal(await choose("c d", { required: 1, reusable: "ab", preferred: "d" }), "a");
  assert.equal(
    await choose("c d", { required: 3, reusable: "ab", preferred: "d" }),
    "abd / 3 of abcd with ab",
  );
});

test("with the policy none the plugin chooses among all, and without a preference aligned devices come first", async () => {
  assert.equal(await choose("a0 b1 c1", { required: 2, preferred: "bc", affinity: "0" }), "bc / 2 of abc");
  assert.equal(await choose("x a0 b1 c1", { required: 2, affinity: "1" }), "bc");
  assert.equal(await choose("x a0 b1 c1", { required: 3, affinity: "1" }), "bca");
  assert.equal(await choose("x a0 b1 c1", { required: 4, affinity: "1" }), "bcax");
  assert.equal(await choose("x y z", { required: 2 }), "xy");
});

test("with the policy best-effort aligned devices come first, preferred ones of them before all", async () => {
  const policy = "best-effort";
  assert.equal(
    await choose("a0 b1 c1 d1", { required: 2, preferred: "dab", policy, affinity: "1" }),
    "db / 2 of bcd",
  );
  assert.equal(
    await choose("a0 b1 c1 d1", { required: 2, preferred: "", policy, affinity: "1" }),
    "bc / 2 of bcd",
  );
  // All aligned devices are needed: the plugin is asked about the rest.
  assert.equal(
    await choose("a0 b1 c1 e2", { required: 3, preferred: "e", policy, affinity: "1" }),
    "bce / 3 of bcae with bc",
  );
  assert.equal(await choose("a0 b1 c1", { required: 2, preferred: "a", policy, affinity: "1" }), "bc");
  assert.equal(await choose("x a0 b1", { required: 3, policy, affinity: "1" }), "bax");
});

test("a preference for what is not available, or for too much, gives no device twice and none too many", async () => {
  assert.equal(await choose("a b", { required: 2, preferred: "zzaa" }), "ab / 2 of ab");
  assert.equal(await choose("a b c", { required: 1, preferred: "cba" }), "c / 1 of abc");
});

test("too few devices are refused in the kubelet's words, which count what is missing beside reusable ones", async () => {
  await assert.rejects(choose("a b", { required: 3 }), {
    message: "requested number of devices unavailable for r. Requested: 3, Available: 2",
  });
  await assert.rejects(choose("a", { required: 3, reusable: "z" }), {
    message: "requested number of devices unavailable for r. Requested: 2, Available: 1",
  });
});

const node = fc.nat(3);
const device = (id: string) =>
  fc
    .uniqueArray(node, { maxLength: 2 })
    .map((nodes): Device => ({ id, healthy: true, numaNodes: nodes.toSorted() }));
const letters = [..."abcdefgh"];

test("property: as many devices as asked for, once each, reusable ones first, aligned where there are enough", async () => {
  const input = fc.record({
    available: fc.tuple(...letters.map(device)).chain((all) => fc.subarray(all)),
    reusable: fc.subarray([..."uvw"]),
    preferred: fc.array(fc.constantFrom(...letters, "u", "zz")),
    policy: fc.constantFrom("none" as const, "best-effort" as const),
    affinity: fc.option(fc.uniqueArray(node, { minLength: 1 }), { nil: undefined }),
    required: fc.integer({ min: 1, max: 12 }),
  });
  await fc.assert(
    fc.asyncProperty(input, async ({ available, reusable, preferred, policy, affinity, required }) => {
      const nodes = affinity === undefined ? undefined : new Set(affinity);
      const choice = chooseDevices({
        resource: "r",
        required,
        reusable: new Set(reusable),
        available,
        affinity: nodes,
        policy,
        preferred: async () => preferred,
      });
      const free = available.map(({ id }) => id);
      if (reusable.length + free.length < required)
        return assert.rejects(choice, /devices unavailable for r/);
      const chosen = await choice;
      assert.equal(chosen.size, required);
      assert.ok([...chosen].every((id) => reusable.includes(id) || free.includes(id)));
      const reused = reusable.filter((id) => chosen.has(id)).length;
      assert.equal(reused, Math.min(required, reusable.length));
      const isAligned = ({ numaNodes }: Device): boolean => numaNodes.some((one) => nodes?.has(one));
      const [aligned, others] = [true, false].map((wanted) =>
        available.filter((one) => isAligned(one) === wanted && chosen.has(one.id)),
      );
      const all = available.filter(isAligned);
      // Unaligned devices come after all aligned ones.
      if (policy === "best-effort" && others?.length !== 0) assert.equal(aligned?.length, all.length);
      const wished = new Set(preferred.filter((id) => free.includes(id)));
      if (policy === "none" && wished.size >= required - reused)
        assert.ok([...chosen].every((id) => reusable.includes(id) || wished.has(id)));
    }),
  );
});

test("property: no smaller set of NUMA nodes has enough devices for every request", () => {
  const request = fc.record({
    count: fc.integer({ min: 1, max: 4 }),
    devices: fc.tuple(...letters.slice(0, 5).map(device)).chain((all) => fc.subarray(all)),
  });
  const subsets = Array.from({ length: 15 }, (_, index) =>
    [0, 1, 2, 3].filter((one) => ((index + 1) >> one) & 1),
  );
  fc.assert(
    fc.property(fc.array(request, { minLength: 1, maxLength: 3 }), (requests) => {
      const careful = requests.filter(({ devices }) => devices.some(({ numaNodes }) => numaNodes.length > 0));
      const isEnough = (nodes: readonly number[]): boolean =>
        careful.every(
          ({ count, devices }) =>
            devices.filter(({ numaNodes }) => numaNodes.some((one) => nodes.includes(one))).length >= count,
        );
      const found = numaAffinity(requests);
      const least = Math.min(...subsets.filter(isEnough).map(({ length }) => length));
      if (careful.length === 0 || least === Number.POSITIVE_INFINITY) return found === undefined;
      return found !== undefined && found.size === least && isEnough([...found]);
    }),
  );
});
