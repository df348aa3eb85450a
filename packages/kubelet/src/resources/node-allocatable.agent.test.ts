import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { featuresOf, Quantity } from "@dray/api";
import {
  Node,
  type NodeAllocatableResourceClaimStatus,
  Pod,
  type ResourceRequirements,
  ServiceAccount,
} from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { hostRuntime, type RuntimeFactory } from "../index.ts";
import type { ContainerConfig, ResourceConfig, SandboxConfig } from "../runtime/config.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

/** Bounds in the cases: thousandths of a core, and MiB. */
interface Expected {
  readonly cpuRequest: number;
  readonly cpuLimit?: number;
  readonly memoryMiB?: number;
}

interface Case {
  readonly name: string;
  readonly resources?: ResourceRequirements;
  /** Named c0, c1, ... */
  readonly containers: readonly ResourceRequirements[];
  readonly claims: readonly Omit<NodeAllocatableResourceClaimStatus, "resources">[];
  readonly pod: Expected;
  /** Values of each container; `scoredMiB`: the request of memory that its OOM score stands for. */
  readonly expected: readonly (Expected & { readonly scoredMiB?: number; readonly score?: number })[];
}

/** Upstream: test/e2e/common/node/dra_node_allocatable_resources.go. */
const cases: readonly Case[] = JSON.parse(
  readFileSync(join(import.meta.dirname, "../testing/node-allocatable.json"), "utf8"),
);

const gates = new Map([["DRANodeAllocatableResources", true]]);
const capacityMiB = 256 * 1024;
const capacity = { cpu: "64", memory: `${capacityMiB}Mi` };

function expectedBounds({ cpuRequest, cpuLimit, memoryMiB }: Expected): ResourceConfig {
  return {
    cpuShares: Math.max(2, Math.floor((cpuRequest * 1024) / 1000)),
    ...(cpuLimit !== undefined && { cpuPeriod: 100_000, cpuQuota: cpuLimit * 100 }),
    ...(memoryMiB !== undefined && { memoryLimitBytes: memoryMiB * 2 ** 20 }),
  };
}

/** The resources of the pod as a whole in its status. */
function whole({ status }: Pod): Expected {
  const { limits = {} } = status?.resources ?? {};
  const requested = Quantity.parse(status?.allocatedResources?.["cpu"] ?? "0");
  return {
    cpuRequest: Number(requested.milliValue()),
    ...(limits["cpu"] !== undefined && { cpuLimit: Number(Quantity.parse(limits["cpu"]).milliValue()) }),
    ...(limits["memory"] !== undefined && {
      memoryMiB: Number(Quantity.parse(limits["memory"]).value()) / 2 ** 20,
    }),
  };
}

let cluster: TestCluster;
const sandboxes = new Map<string, SandboxConfig>();
const containers = new Map<string, ContainerConfig>();
const runtime: RuntimeFactory = (surroundings) => {
  const { service, images } = hostRuntime({ images: [] })(surroundings);
  const run = service.runPodSandbox.bind(service);
  const create = service.createContainer.bind(service);
  let pod = "";
  service.runPodSandbox = (config) => {
    pod = config.name;
    sandboxes.set(pod, config);
    return run(config);
  };
  service.createContainer = (sandbox, config) => {
    containers.set(`${pod}/${config.name}`, config);
    return create(sandbox, config);
  };
  return { service, images };
};
before(async () => {
  cluster = await testCluster({ featureGates: gates });
  const account = { metadata: { namespace: "default", name: "default" } };
  await cluster.admin.resource(ServiceAccount).create(account);
  await cluster.node("on", { runtime, capacity, features: featuresOf("1.37", gates) });
  await cluster.node("off", { runtime, capacity, features: featuresOf("1.37") });
});
after(() => cluster.close());

/** Creates a pod that the scheduler has bound, with the statuses of its claims. */
async function bound(
  node: string,
  name: string,
  { containers, resources, claims }: Pick<Case, "containers" | "resources" | "claims">,
): Promise<Pod> {
  const { spec, metadata } = podOn(node, name, {
    containers: containers.map((each, index) => ({
      name: `c${index}`,
      // Ends at once when its pod is removed.
      command: ["sh", "-c", "trap exit TERM; sleep 1000 & wait"],
      resources: each,
    })),
    ...(resources !== undefined && { resources }),
    terminationGracePeriodSeconds: 0,
  });
  const { nodeName: _, ...unbound } = spec!;
  const pods = cluster.admin.resource(Pod);
  const ref = { namespace: "default", name };
  await pods.create({ metadata, spec: unbound });
  const status = { nodeAllocatableResourceClaimStatuses: [...claims] };
  await pods.patch(ref, "merge", { status }, { subresource: "status" });
  await pods.post(ref, "binding", {
    apiVersion: "v1",
    kind: "Binding",
    metadata: ref,
    target: { kind: "Node", name: node },
  });
  return podBecomes(cluster.admin, ref, ({ status }) => ["Running", "Failed"].includes(status?.phase ?? ""));
}

/** Resolves when the pod no longer counts. */
async function remove(name: string): Promise<void> {
  const ref = { namespace: "default", name };
  await cluster.admin.resource(Pod).delete(ref);
  await eventuallyPasses(() => assert.rejects(cluster.admin.resource(Pod).get(ref)));
}

for (const [index, one] of cases.entries())
  test(one.name, async () => {
    const name = `case-${index}`;
    const pod = await bound("on", name, one);
    assert.equal(pod.status?.phase, "Running", pod.status?.message);
    assert.equal(pod.status?.nodeAllocatableResourceClaimStatuses?.length, one.claims.length);
    assert.deepEqual(sandboxes.get(name)?.resources, expectedBounds(one.pod));
    if (pod.status?.qosClass !== "BestEffort") assert.deepEqual(whole(pod), one.pod);
    for (const [at, expected] of one.expected.entries()) {
      const { oomScoreAdj, ...bounds } = containers.get(`${name}/c${at}`)!.resources;
      assert.deepEqual(bounds, expectedBounds(expected), `c${at}`);
      const score = 1000 - Math.floor((1000 * (expected.scoredMiB ?? 0)) / capacityMiB);
      assert.equal(oomScoreAdj, expected.score ?? score, `c${at}`);
    }
    await remove(name);
  });

test("a pod whose claims take more than the node has left is rejected", async () => {
  const claim = (cpu: string) => ({
    resourceClaimName: "one",
    containers: ["c0"],
    mapping: [{ name: "cpu", quantity: cpu }],
  });
  const first = await bound("on", "first", { containers: [{}], claims: [claim("40")] });
  assert.equal(first.status?.phase, "Running");
  const second = await bound("on", "second", { containers: [{}], claims: [claim("30")] });
  assert.equal(second.status?.reason, "OutOfcpu");
  assert.match(
    second.status?.message ?? "",
    /^Pod was rejected: Node didn't have enough resource: cpu, requested: 30000, used: 40000, capacity: 64000$/,
  );
});

test("with the gate off the node counts nothing, and does not declare that it does", async () => {
  const [one] = cases;
  const pod = await bound("off", "off", one!);
  assert.equal(pod.status?.phase, "Running");
  const own = expectedBounds({ cpuRequest: 2000, cpuLimit: 4000, memoryMiB: 4096 });
  assert.deepEqual(sandboxes.get("off")?.resources, own);
  assert.equal(containers.get("off/c0")?.resources.cpuQuota, 200_000);
  const declared = async (name: string) =>
    (await cluster.admin.resource(Node).get({ name })).status?.declaredFeatures ?? [];
  assert.equal((await declared("off")).includes("DRANodeAllocatableResources"), false);
  assert.equal((await declared("on")).includes("DRANodeAllocatableResources"), true);
});
