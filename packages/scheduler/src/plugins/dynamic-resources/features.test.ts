/**
 * Scheduling with beta features of 1.37, through a real API server. @dray/allocator tests the rules
 * themselves.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type TestCluster, type TestClusterOptions, uses, withCluster } from "../../testing/cluster.ts";

const pool = (resourceSliceCount = 1): object => ({ name: "p", generation: 1, resourceSliceCount });

/** Node n1 with such slices, class `gpu`, and a scheduler. */
async function withSlices(
  slices: readonly object[],
  run: (cluster: TestCluster) => Promise<void>,
  options: TestClusterOptions = {},
): Promise<void> {
  await withCluster(async (cluster) => {
    await cluster.gpuClass();
    await cluster.node("n1");
    for (const [i, spec] of slices.entries()) {
      await cluster.create(ResourceSlice, {
        metadata: { name: `s${i}` },
        spec: { driver: "gpu.example.com", nodeName: "n1", ...spec },
      });
    }
    await cluster.scheduler();
    await run(cluster);
  }, options);
}

/** Pods a, b, ... with claims of their own, one after the other; answers which of them got a node. */
async function place(cluster: TestCluster, request: object, count: number): Promise<readonly boolean[]> {
  const placed: boolean[] = [];
  for (let i = 0; i < count; i++) {
    const name = `p${i}`;
    await cluster.claim(name, { exactly: { deviceClassName: "gpu", ...request } });
    await cluster.pod(name, uses(name));
    placed.push(
      (await cluster.until(`an answer for ${name}`, async () => {
        const pod = await cluster.get(Pod, name);
        if (pod.spec.nodeName) return "bound";
        const isUnschedulable = pod.status?.conditions?.some(
          ({ type, status }) => type === "PodScheduled" && status === "False",
        );
        return isUnschedulable ? "refused" : undefined;
      })) === "bound",
    );
  }
  return placed;
}

test("partitions of one device are given while their counters last (KEP-4815)", () => {
  const device = (i: number): object => ({
    name: `d${i}`,
    consumesCounters: [{ counterSet: "gpu", counters: { memory: { value: "30Gi" } } }],
  });
  return withSlices(
    [
      { pool: pool(2), sharedCounters: [{ name: "gpu", counters: { memory: { value: "80Gi" } } }] },
      { pool: pool(2), devices: [0, 1, 2, 3].map(device) },
    ],
    async (cluster) => assert.deepEqual(await place(cluster, {}, 3), [true, true, false]),
  );
});

test("a device is shared while its capacity lasts, each share with an id of its own (KEP-5075)", () =>
  withSlices(
    [
      {
        pool: pool(),
        devices: [
          {
            name: "d",
            allowMultipleAllocations: true,
            capacity: {
              memory: { value: "80Gi", requestPolicy: { default: "1Gi", validRange: { min: "1Gi" } } },
            },
          },
        ],
      },
    ],
    async (cluster) => {
      const request = { capacity: { requests: { memory: "30Gi" } } };
      assert.deepEqual(await place(cluster, request, 3), [true, true, false]);
      const claims = await cluster.list(ResourceClaim);
      const results = claims.flatMap(({ status }) => status?.allocation?.devices?.results ?? []);
      assert.deepEqual(
        results.map(({ consumedCapacity }) => consumedCapacity),
        [{ memory: "30Gi" }, { memory: "30Gi" }],
      );
      assert.equal(new Set(results.map(({ shareID }) => shareID)).size, 2);
    },
  ));

/** The version of taint rules in each release, and what switches it on. */
const ruleVersions = [
  { version: "1.34", group: "v1alpha3", gates: "DRADeviceTaints=true" },
  { version: "1.35", group: "v1alpha3", gates: "DRADeviceTaints=true,DRADeviceTaintRules=true" },
  { version: "1.36", group: "v1beta2", gates: "DRADeviceTaintRules=true" },
  { version: "1.37", group: "v1", gates: "" },
] as const;

for (const { version, group, gates } of ruleVersions)
  test(`a taint rule of ${version} keeps pods away from devices until it is gone (KEP-5055)`, () =>
    withSlices(
      [{ pool: pool(), devices: [{ name: "d" }] }],
      async (cluster) => {
        const path = `/apis/resource.k8s.io/${group}/devicetaintrules`;
        const rule = {
          apiVersion: `resource.k8s.io/${group}`,
          kind: "DeviceTaintRule",
          metadata: { name: "broken" },
          spec: { deviceSelector: { device: "d" }, taint: { key: "broken", effect: "NoSchedule" } },
        };
        await cluster.client.text("POST", path, { body: rule });
        assert.deepEqual(await place(cluster, {}, 1), [false]);
        await cluster.client.text("DELETE", `${path}/broken`);
        assert.equal(await cluster.bound("p0"), "n1");
      },
      { version, gates, runtimeConfig: { [`resource.k8s.io/${group}`]: true } },
    ));

test("taint rules that the server does not serve are named, and nothing waits for them", () =>
  withSlices(
    [{ pool: pool(), devices: [{ name: "d" }] }],
    async (cluster) => {
      assert.deepEqual(await place(cluster, {}, 1), [true]);
      const [problem, ...others] = cluster.problems.splice(0);
      assert.match(
        problem!,
        /^taint rules have no effect: the server does not serve devicetaintrules of resource/,
      );
      assert.deepEqual(others, []);
    },
    { version: "1.36", gates: "DRADeviceTaintRules=true" },
  ));

test("a pod takes of its node what its devices stand for, with their overhead (KEP-5517)", () =>
  withCluster(
    async (cluster) => {
      await cluster.gpuClass();
      await cluster.node("n1", { allocatable: { cpu: "4" } });
      const cores = {
        cpu: { mapping: { deviceMultiplier: "1500m" }, overhead: { perPod: "250m", perContainer: "125m" } },
      };
      await cluster.create(ResourceSlice, {
        metadata: { name: "s" },
        spec: {
          driver: "gpu.example.com",
          nodeName: "n1",
          pool: pool(),
          devices: ["d0", "d1", "d2"].map((name) => ({ name, nodeAllocatableResources: cores })),
        },
      });
      await cluster.scheduler();
      for (const name of ["p0", "p1", "p2"]) {
        await cluster.claim(name);
        const containers = [{ name: "c", image: "i", resources: { claims: [{ name }] } }];
        await cluster.pod(name, { ...uses(name), containers });
      }
      // Two of 1875m fit; the third device is free, but not its cores.
      const bound = async (): Promise<readonly Pod[]> =>
        (await cluster.list(Pod)).filter(({ spec }) => spec.nodeName !== undefined);
      await cluster.until("two pods have a node", async () => (await bound()).length === 2);
      const names = (await bound()).map(({ metadata }) => metadata.name);
      const waiting = ["p0", "p1", "p2"].find((name) => !names.includes(name))!;
      assert.match(await cluster.refused(waiting), /^0\/1 nodes are available: 1 Insufficient cpu\./);
      const { status } = await cluster.get(Pod, names[0]!);
      assert.deepEqual(status?.nodeAllocatableResourceClaimStatuses, [
        {
          resourceClaimName: names[0],
          containers: ["c"],
          mapping: [{ name: "cpu", quantity: "1500m" }],
          overhead: [{ name: "cpu", perPod: "250m", perContainer: "125m" }],
        },
      ]);
      await cluster.remove(names[0]!, names[0]!);
      assert.equal(await cluster.bound(waiting), "n1");
    },
    { gates: "DRANodeAllocatableResources=true" },
  ));
