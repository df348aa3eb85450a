import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { featuresOf, parseFeatureGates } from "@dray/api";
import type { Container, Pod } from "@dray/api/core/v1";
import type { DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { skipClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { partial } from "@dray/testing/partial";
import { type TestCluster, testCluster } from "../testing/cluster.ts";
import { allocated, draNode, type TestDraNode, type TestDraNodeOptions } from "../testing/dra.ts";
import { type TestDriver, testDriver } from "../testing/driver.ts";
import { UnprepareError } from "./manager.ts";

let cluster: TestCluster;
before(async () => {
  cluster = await testCluster();
});
after(() => cluster.close());

type Result = Partial<DeviceRequestAllocationResult> & Pick<DeviceRequestAllocationResult, "driver">;

const podOf = (name: string, claims: readonly string[], more: object = {}): Pod =>
  partial<Pod>({
    metadata: { namespace: "default", name, uid: `${name}-uid` },
    spec: {
      resourceClaims: claims.map((claim) => ({ name: claim, resourceClaimName: claim })),
      containers: [{ name: "main", resources: { claims: claims.map((claim) => ({ name: claim })) } }],
    },
    ...more,
  });

/** A server of claims that the test sets. */
class ClaimServer {
  readonly claims = new Map<string, ResourceClaim>();
  readonly client = {
    resource: () => ({
      get: async ({ name }: { name: string }) => {
        const claim = this.claims.get(name);
        if (claim === undefined) throw new Error("not found");
        return claim;
      },
    }),
  } as unknown as Client;

  put(name: string, pods: readonly Pod[], results: readonly Result[], more: object = {}): void {
    this.claims.set(
      name,
      partial<ResourceClaim>({
        metadata: { namespace: "default", name, uid: `${name}-uid`, ...more },
        status: {
          allocation: {
            devices: { results: results.map((result) => ({ ...allocated(result.driver), ...result })) },
          },
          reservedFor: pods.map(({ metadata: { name, uid } }) => ({ resource: "pods", name, uid })),
        },
      }),
    );
  }
}

interface Fixture {
  readonly claims: ClaimServer;
  readonly node: TestDraNode;
  readonly driver: (name: string) => Promise<TestDriver>;
}

async function fixture(
  t: { after(end: () => Promise<void>): void },
  id: string,
  options: TestDraNodeOptions = {},
): Promise<Fixture> {
  const claims = new ClaimServer();
  const node = draNode(cluster, id, { client: claims.client, ...options });
  t.after(() => node.close());
  return {
    claims,
    node,
    async driver(name) {
      const driver = await testDriver(node.root, name);
      t.after(() => driver.close());
      await eventuallyPasses(async () => assert.equal(driver.registered.length, 1));
      return driver;
    },
  };
}

const devicesOf = (node: TestDraNode, pod: Pod, container = pod.spec.containers[0]): string[] =>
  container === undefined ? [] : node.manager.cdiDevices(pod, container);

const optional = featuresOf("1.37", parseFeatureGates("DRAOptionalNodeOperations=true"));
const both = ["NodePrepareResources", "NodeUnprepareResources"];

for (const [what, ours, calls] of [
  ["nothing", [[], []], ["prepare c", "unprepare c"]],
  ["everything", [["*"], ["*"]], []],
  ["both by name", [both, ["*"]], []],
  ["to be unprepared", [["NodeUnprepareResources"], both], ["prepare c"]],
  ["everything, of one device of two", [["*"], []], ["prepare c", "unprepare c"]],
] as const)
  test(`a driver whose devices skip ${what} is called for ${calls.length === 0 ? "nothing" : calls.join(" and ")}`, async (t) => {
    const { claims, node, driver } = await fixture(t, `skip-${what.replace(/\W+/g, "-")}`, {
      features: optional,
    });
    const a = await driver("a.example.com");
    const b = await driver("b.example.com");
    const pod = podOf("p", ["c"]);
    const results = ours.map((skipNodeOperations, index) => ({
      driver: "a.example.com",
      device: `gpu-${index}`,
      ...(skipNodeOperations.length === 0 ? {} : { skipNodeOperations: [...skipNodeOperations] }),
    }));
    claims.put("c", [pod], [...results, { driver: "b.example.com" }]);
    await node.manager.prepare(pod);
    assert.deepEqual(devicesOf(node, pod), ["test/gpu=c-uid"]);
    // The skipped operations are known after a restart, without the claim.
    await node.close();
    const later = draNode(cluster, `skip-${what.replace(/\W+/g, "-")}`, { client: claims.client });
    t.after(() => later.close());
    await eventuallyPasses(async () => {
      for (const name of ["a.example.com", "b.example.com"]) assert.ok(later.plugins.get(name).connected);
    });
    await later.manager.unprepare(pod.metadata.uid);
    assert.deepEqual(a.calls, calls);
    assert.deepEqual(b.calls, ["prepare c", "unprepare c"]);
    assert.equal(later.manager.podUIDs().size, 0);
  });

test("a driver whose devices skip all operations need not be registered", async (t) => {
  const { claims, node } = await fixture(t, "skip-absent", { features: optional });
  const pod = podOf("p", ["c"]);
  claims.put("c", [pod], [{ driver: "absent.example.com", skipNodeOperations: ["*"] }]);
  await node.manager.prepare(pod);
  assert.deepEqual(devicesOf(node, pod), []);
  const state = JSON.parse(
    JSON.parse(readFileSync(join(node.root, "var/lib/kubelet/dra_manager_state"), "utf8")).Data,
  );
  assert.deepEqual(state.ClaimInfoStateList[0].DriverState, {
    "absent.example.com": { Devices: null, skipNodeOperations: ["*"] },
  });
  await node.manager.unprepare(pod.metadata.uid);
  const metrics = node.manager.metrics();
  assert.match(metrics, /^dra_node_prepare_skips_total\{driver_name="absent.example.com"\} 1$/m);
  assert.match(metrics, /^dra_node_unprepare_skips_total\{driver_name="absent.example.com"\} 1$/m);
  // Needed only for preparing.
  claims.put("c", [pod], [{ driver: "absent.example.com", skipNodeOperations: ["NodeUnprepareResources"] }]);
  await assert.rejects(node.manager.prepare(pod), /DRA driver absent.example.com is not registered/);
});

test("without the gate a claim that skips operations is refused, and nothing is prepared", async (t) => {
  const { claims, node, driver } = await fixture(t, "skip-gate");
  const { calls } = await driver("a.example.com");
  const pod = podOf("p", ["c"]);
  claims.put("c", [pod], [{ driver: "a.example.com", skipNodeOperations: ["*"] }]);
  await assert.rejects(node.manager.prepare(pod), {
    message: "ResourceClaim c: DRAOptionalNodeOperations feature gate is disabled on kubelet",
  });
  assert.deepEqual([calls, node.manager.podUIDs().size], [[], 0]);
});

test("a container gets the devices of the requests that it lists, those of subrequests among them", async (t) => {
  const { claims, node, driver } = await fixture(t, "requests");
  const gpus = await driver("a.example.com");
  const device = (name: string, requestNames: string[]): object => ({
    poolName: "pool",
    deviceName: name,
    requestNames,
    cdiDeviceIds: [`v/c=${name}`],
  });
  gpus.devices = [device("a", ["one"]), device("b", ["two"]), device("c", ["three/big"]), device("d", [])];
  const claim = (name: string, request?: string): Container =>
    ({
      name,
      resources: { claims: [{ name: "c", ...(request === undefined ? {} : { request }) }] },
    }) as Container;
  const pod = podOf("p", ["c"]);
  claims.put("c", [pod], [{ driver: "a.example.com" }]);
  await node.manager.prepare(pod);
  for (const [request, wanted] of [
    [undefined, ["a", "b", "c", "d"]],
    ["one", ["a", "d"]],
    ["two", ["b", "d"]],
    ["three", ["c", "d"]],
    ["three/big", ["c", "d"]],
    ["three/small", ["d"]],
    ["other", ["d"]],
  ] as const)
    assert.deepEqual(
      devicesOf(node, pod, claim("x", request)),
      wanted.map((name) => `v/c=${name}`),
      request,
    );
  assert.deepEqual(devicesOf(node, pod, { name: "none" }), []);
});

test("a container gets the devices that stand for the extended resources that it asks for", async (t) => {
  const { claims, node, driver } = await fixture(t, "extended");
  const gpus = await driver("a.example.com");
  gpus.devices = ["0", "1"].map((index) => ({
    poolName: "pool",
    deviceName: `gpu-${index}`,
    requestNames: [`container-${index}-request-0`],
    cdiDeviceIds: [`v/c=gpu-${index}`],
  }));
  const resource = "example.com/gpu";
  const containers = [
    { name: "one", resources: { requests: { [resource]: "1" } } },
    { name: "two", resources: { requests: { [resource]: "1" } } },
    { name: "zero", resources: { requests: { [resource]: "0" } } },
    { name: "none" },
  ];
  const mapping = (containerName: string, index: number): object => ({
    containerName,
    resourceName: resource,
    requestName: `container-${index}-request-0`,
  });
  const requestMappings = [mapping("one", 0), mapping("two", 1), mapping("zero", 1), mapping("none", 1)];
  const pod = podOf("p", [], {
    spec: { containers },
    status: { extendedResourceClaimStatus: { resourceClaimName: "x", requestMappings } },
  });
  claims.put("x", [pod], [{ driver: "a.example.com" }]);
  await assert.rejects(node.manager.prepare(pod), /default\/x is not controlled by the pod/);
  const ownerReferences = [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "p-uid", controller: true }];
  claims.put("x", [pod], [{ driver: "a.example.com" }], { ownerReferences });
  await node.manager.prepare(pod);
  assert.deepEqual(
    pod.spec.containers.map((container) => devicesOf(node, pod, container)),
    [["v/c=gpu-0"], ["v/c=gpu-1"], [], []],
  );
  await node.manager.unprepare(pod.metadata.uid);
  assert.deepEqual(gpus.calls, ["prepare x", "unprepare x"]);
});

test("a claim with admin access is prepared although its device is in use", async (t) => {
  const { claims, node, driver } = await fixture(t, "admin");
  const { calls } = await driver("a.example.com");
  const [user, admin] = [podOf("user", ["c"]), podOf("admin", ["all"])];
  claims.put("c", [user], [{ driver: "a.example.com" }]);
  claims.put("all", [admin], [{ driver: "a.example.com", adminAccess: true }]);
  await node.manager.prepare(user);
  await node.manager.prepare(admin);
  assert.deepEqual(devicesOf(node, admin), ["test/gpu=all-uid"]);
  await node.manager.unprepare(admin.metadata.uid);
  assert.deepEqual(devicesOf(node, user), ["test/gpu=c-uid"]);
  assert.deepEqual(calls, ["prepare c", "prepare all", "unprepare all"]);
});

test("one call for each driver has all claims of the pod; a claim that is named twice is in it once", async (t) => {
  const { claims, node, driver } = await fixture(t, "batches");
  const a = await driver("a.example.com");
  const b = await driver("b.example.com");
  const pod = podOf("p", ["c1", "c2"]);
  pod.spec.resourceClaims?.push({ name: "again", resourceClaimName: "c1" });
  claims.put("c1", [pod], [{ driver: "a.example.com" }, { driver: "b.example.com" }]);
  claims.put("c2", [pod], [{ driver: "a.example.com" }]);
  await node.manager.prepare(pod);
  await node.manager.unprepare(pod.metadata.uid);
  assert.deepEqual(
    [a.calls, b.calls],
    [
      ["prepare c1 c2", "unprepare c1 c2"],
      ["prepare c1", "unprepare c1"],
    ],
  );
});

test("a failed unprepare names its drivers; other drivers unprepare", async (t) => {
  const { claims, node, driver } = await fixture(t, "waits");
  const a = await driver("a.example.com");
  const b = await driver("b.example.com");
  const pod = podOf("p", ["c1", "c2"]);
  claims.put("c1", [pod], [{ driver: "a.example.com" }, { driver: "b.example.com" }]);
  claims.put("c2", [pod], [{ driver: "b.example.com" }]);
  await node.manager.prepare(pod);
  await a.close();
  await eventuallyPasses(async () => assert.throws(() => node.plugins.get("a.example.com")));
  await assert.rejects(node.manager.unprepare(pod.metadata.uid), (error) => {
    assert.ok(error instanceof UnprepareError);
    assert.deepEqual(error.drivers, ["a.example.com"]);
    assert.equal(
      error.message,
      "DRA driver a.example.com: NodeUnprepareResources failed: DRA driver a.example.com is not registered",
    );
    return true;
  });
  assert.deepEqual(b.calls.at(-1), "unprepare c1 c2");
  const again = await driver("a.example.com");
  again.unprepareError = "in use";
  await assert.rejects(node.manager.unprepare(pod.metadata.uid), {
    message: "DRA driver a.example.com: NodeUnprepareResources failed for ResourceClaim c1: in use",
  });
  again.unprepareError = "";
  await node.manager.unprepare(pod.metadata.uid);
  assert.equal(node.manager.podUIDs().size, 0);
});

test("a claim that was allocated to another driver while the agent was away is unprepared by the old one first", async (t) => {
  const { claims, node, driver } = await fixture(t, "moved");
  const a = await driver("a.example.com");
  const b = await driver("b.example.com");
  a.prepareError = "no";
  const pod = podOf("p", ["c"]);
  claims.put("c", [pod], [{ driver: "a.example.com" }]);
  await assert.rejects(node.manager.prepare(pod), /DRA driver a.example.com: .* for ResourceClaim c: no/);
  await node.close();
  claims.put("c", [pod], [{ driver: "b.example.com" }]);
  const later = draNode(cluster, "moved", { client: claims.client });
  t.after(() => later.close());
  await eventuallyPasses(async () => {
    for (const name of ["a.example.com", "b.example.com"]) assert.ok(later.plugins.get(name).connected);
  });
  await later.manager.prepare(pod);
  assert.deepEqual([a.calls, b.calls], [["prepare c", "unprepare c"], ["prepare c"]]);
  assert.deepEqual(devicesOf(later, pod), ["test/gpu=c-uid"]);
});

test("metrics count claims in use by driver, operations and calls with their ends", async (t) => {
  const clock = skipClock();
  const { claims, node, driver } = await fixture(t, "metrics", { clock });
  const a = await driver("a.example.com");
  await driver("b.example.com");
  const pod = podOf("p", ["c1", "c2"]);
  claims.put("c1", [pod], [{ driver: "a.example.com" }, { driver: "b.example.com" }]);
  claims.put("c2", [pod], [{ driver: "a.example.com" }]);
  const has = (line: string): void =>
    assert.ok(node.manager.metrics().split("\n").includes(line), `${line}\n${node.manager.metrics()}`);
  const inUse = (driver: string, count: number): void =>
    has(`dra_resource_claims_in_use{driver_name="${driver}"} ${count}`);
  inUse("<any>", 0);
  a.prepareError = "no";
  await assert.rejects(node.manager.prepare(pod));
  inUse("<any>", 0);
  a.prepareError = "";
  let open = (): void => {};
  a.gate = new Promise((resolve) => {
    open = resolve;
  });
  const prepared = node.manager.prepare(pod);
  await eventuallyPasses(async () => assert.equal(a.calls.length, 2));
  clock.skip(41_000);
  open();
  await prepared;
  inUse("<any>", 2);
  inUse("a.example.com", 2);
  inUse("b.example.com", 1);
  const operation = (name: string, failed: boolean): string =>
    `{is_error="${failed}",operation_name="${name}"`;
  const operations = "dra_operations_duration_seconds";
  has(`${operations}_count${operation("PrepareResources", true)}} 1`);
  has(`${operations}_count${operation("PrepareResources", false)}} 1`);
  has(`${operations}_bucket${operation("PrepareResources", false)},le="0.1"} 0`);
  has(`${operations}_bucket${operation("PrepareResources", false)},le="+Inf"} 1`);
  assert.equal(node.manager.metrics().match(/operations_duration_seconds_bucket.*le="0.1"/g)?.length, 4);
  const call = (driver: string, method: string): string =>
    `dra_grpc_operations_duration_seconds_count{driver_name="${driver}",grpc_status_code="OK",method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/${method}"}`;
  has(`${call("a.example.com", "NodePrepareResources")} 2`);
  has(`${call("b.example.com", "NodePrepareResources")} 1`);
  await node.manager.unprepare(pod.metadata.uid);
  has(`${call("a.example.com", "NodeUnprepareResources")} 1`);
  has(`${operations}_count${operation("UnprepareResources", false)}} 1`);
  inUse("<any>", 0);
  assert.ok(!node.manager.metrics().includes('in_use{driver_name="a.example.com"}'));
});
