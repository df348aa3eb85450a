import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { crc32 } from "node:zlib";
import { ConfigMap, Event, Pod, type PodSpec, ServiceAccount } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { type Client, silentLog } from "@dray/client";
import { unixChannel } from "@dray/rpc";
import { HealthStatus } from "@dray/rpc/drahealth/v1";
import { PodResourcesListerDefinition } from "@dray/rpc/podresources/v1";
import type { Kubelet } from "../index.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";
import { allocated, podWithClaims } from "../testing/dra.ts";
import { type TestDriver, testDriver } from "../testing/driver.ts";
import { eventually } from "../testing/eventually.ts";
import { DraManager } from "./manager.ts";
import { DraPlugins } from "./plugins.ts";

const name = "gpu.example.com";
let cluster: TestCluster;
let node: Kubelet;
let driver: TestDriver;
const root = (): string => cluster.rootDir("n1");
before(async () => {
  cluster = await testCluster();
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
  node = await cluster.node("n1");
});
after(() => cluster.close());

const becomes = (pod: string, wanted: (pod: Pod) => boolean) =>
  podBecomes(cluster.admin, { namespace: "default", name: pod }, wanted);

const running = (pod: Pod): boolean => pod.status?.containerStatuses?.[0]?.state?.running !== undefined;

const checkpoint = (): {
  ClaimInfoStateList: { ClaimName: string; PodUIDs: object; DriverState: object }[];
} => {
  const { Data, Checksum } = JSON.parse(
    readFileSync(join(root(), "var/lib/kubelet/dra_manager_state"), "utf8"),
  ) as { Data: string; Checksum: number };
  assert.equal(crc32(Data), Checksum);
  return JSON.parse(Data);
};

/** Creates a pod with an allocated claim, as the scheduler would leave them. */
async function podWithClaim(
  pod: string,
  claim: string,
  command: string,
  device = "gpu-0",
  more: Partial<PodSpec> = {},
): Promise<Pod> {
  const created = await cluster.admin.resource(Pod).create(
    podOn("n1", pod, {
      ...more,
      resourceClaims: [{ name: "gpu", resourceClaimName: claim }],
      containers: [
        { name: "main", command: ["bash", "-c", command], resources: { claims: [{ name: "gpu" }] } },
      ],
    }),
  );
  const claims = cluster.admin.resource(ResourceClaim);
  let old = await claims.get({ namespace: "default", name: claim }).catch(() =>
    claims.create({
      metadata: { namespace: "default", name: claim },
      spec: {
        devices: {
          requests: [
            { name: "gpu", exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 1 } },
          ],
        },
      },
    }),
  );
  const allocated = old.status?.allocation?.devices?.results?.[0]?.device;
  // An allocation cannot be changed: the claim is deallocated in between.
  if (allocated !== undefined && allocated !== device)
    old = await claims.update({ ...old, status: {} }, { subresource: "status" });
  await claims.update(
    {
      ...old,
      status: {
        ...old.status,
        allocation: {
          devices: { results: [{ request: "gpu", driver: name, pool: "pool", device }] },
        },
        reservedFor: [
          ...(old.status?.reservedFor ?? []),
          { resource: "pods", name: pod, uid: created.metadata.uid },
        ],
      },
    },
    { subresource: "status" },
  );
  return created;
}

async function events(pod: string): Promise<string[]> {
  const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
  return items
    .filter(({ involvedObject }) => involvedObject.name === pod)
    .map(({ reason, message }) => `${reason}: ${message}`);
}

test("a pod waits for its driver with an event, and starts when the driver comes", async () => {
  await podWithClaim(
    "p1",
    "c1",
    'echo "GPU=$GPU" >/dev/termination-log; trap "exit 0" TERM; sleep 1000 & wait',
  );
  await eventually(async () =>
    assert.ok(
      (await events("p1")).some((event) =>
        /FailedPrepareDynamicResources: .*DRA driver gpu.example.com is not registered/.test(event),
      ),
    ),
  );
  const { status } = await becomes("p1", () => true);
  assert.equal(status?.containerStatuses?.[0]?.state?.waiting?.reason, "ContainerCreating");
  driver = await testDriver(root(), name);
  await becomes("p1", running);
  assert.deepEqual(driver.registered, [{ pluginRegistered: true, error: "" }]);
  assert.deepEqual(driver.calls, ["prepare c1"]);
  assert.deepEqual(
    checkpoint().ClaimInfoStateList.map((claim) => claim.ClaimName),
    ["c1"],
  );
});

test("deletion stops the container, then unprepares, then ends the pod", async () => {
  driver.unprepareError = "device is busy";
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p1" });
  await eventually(async () => assert.ok(driver.calls.includes("unprepare c1")));
  const pod = await becomes("p1", (p) => p.metadata.deletionTimestamp !== undefined);
  assert.notEqual(pod.status?.phase, "Succeeded", "no terminal status before the claim is unprepared");
  driver.unprepareError = "";
  await eventually(async () =>
    assert.deepEqual((await cluster.admin.resource(Pod).list({ namespace: "default" })).items, []),
  );
  assert.deepEqual(checkpoint().ClaimInfoStateList, []);
});

test("a shared claim is prepared once and unprepared with its last pod", async () => {
  driver.calls.length = 0;
  const script = 'trap "exit 0" TERM; sleep 1000 & wait';
  await podWithClaim("p2", "c2", script);
  await becomes("p2", running);
  await podWithClaim("p3", "c2", script);
  await becomes("p3", running);
  assert.deepEqual(driver.calls, ["prepare c2"]);
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p2" });
  await eventually(async () => assert.equal((await cluster.admin.resource(Pod).list()).items.length, 1));
  assert.deepEqual(driver.calls, ["prepare c2"]);
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p3" }, { gracePeriodSeconds: 0 });
  await eventually(async () => assert.deepEqual(driver.calls, ["prepare c2", "unprepare c2"]));
});

test("an agent that comes back adopts its containers and unprepares their claims", async () => {
  driver.calls.length = 0;
  await podWithClaim("p4", "c4", 'trap "exit 0" TERM; sleep 1000 & wait');
  const before = await becomes("p4", running);
  await node.stop({ leavePods: true });
  node = await cluster.node("n1");
  const now = await becomes("p4", running);
  assert.equal(
    now.status?.containerStatuses?.[0]?.containerID,
    before.status?.containerStatuses?.[0]?.containerID,
  );
  assert.deepEqual(driver.calls, ["prepare c4"], "a running sandbox needs no second prepare");
  await node.stop({ leavePods: true });
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p4" }, { gracePeriodSeconds: 0 });
  node = await cluster.node("n1");
  await eventually(async () => assert.deepEqual(driver.calls, ["prepare c4", "unprepare c4"]));
});

test("the node says once which driver is waited for by claims of a pod that went while no agent looked", async () => {
  const { metadata } = await podWithClaim("p60", "c60", "sleep 1000");
  await becomes("p60", running);
  await node.stop({ leavePods: true });
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p60" }, { gracePeriodSeconds: 0 });
  driver.unprepareError = "device is busy";
  const before = driver.calls.length;
  node = await cluster.node("n1");
  const told = async (): Promise<(number | undefined)[]> =>
    (await cluster.admin.resource(Event).list({ namespace: "default" })).items
      .filter(({ reason, message }) => reason?.startsWith("FailedUnp") && message?.includes(metadata.uid))
      .map(({ involvedObject, message, count }) => {
        assert.equal(involvedObject.kind, "Node");
        const wanted = `Claims of pod ${metadata.uid}, which is gone, are still prepared: waiting for DRA driver ${name}: `;
        assert.ok(message?.startsWith(wanted), message);
        return count;
      });
  await eventually(async () => assert.deepEqual(await told(), [1]));
  assert.ok(driver.calls.length > before);
  driver.unprepareError = "";
  // A new instance is asked at once.
  const busy = await testDriver(root(), name, "-busy");
  busy.unprepareError = "still busy";
  await eventually(async () => assert.deepEqual(busy.calls, ["unprepare c60"]));
  await eventually(async () => assert.deepEqual(await told(), [1]));
  const free = await testDriver(root(), name, "-free");
  await eventually(async () => assert.deepEqual(free.calls, ["unprepare c60"]));
  await eventually(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
  assert.deepEqual(await told(), [1]);
  await Promise.all([busy.close(), free.close()]);
});

test("the health of a pod's devices is in its status, and stays after its end", async () => {
  const otherName = "health.example.com";
  const other = await testDriver(root(), otherName, "", {}, { health: ["v1"] });
  await eventually(async () => assert.equal(other.registered.length, 1));
  const created = await podWithClaims(cluster.admin, "n1", "p51", [
    { podClaim: "gpu", name: "c51", results: [allocated(otherName)] },
  ]);
  const health = ({ status }: Pod): string => {
    const [first] = status?.containerStatuses?.[0]?.allocatedResourcesStatus ?? [];
    const { health = "", message = "" } = first?.resources?.[0] ?? {};
    return `${first?.name} ${health} ${message}`;
  };
  other.report([{ health: HealthStatus.HEALTHY }]);
  await becomes("p51", (pod) => running(pod) && health(pod) === "claim:gpu Healthy ");
  other.report([{ health: HealthStatus.UNHEALTHY, message: "too hot" }]);
  await becomes("p51", (pod) => health(pod) === "claim:gpu Unhealthy too hot");
  other.report([{ health: HealthStatus.HEALTHY }]);
  await becomes("p51", (pod) => health(pod) === "claim:gpu Healthy ");
  other.report([{ health: HealthStatus.UNHEALTHY, message: "dead" }]);
  await becomes("p51", (pod) => health(pod) === "claim:gpu Unhealthy dead");
  const resources = unixChannel(join(root(), "var/lib/kubelet/pod-resources/kubelet.sock"));
  const { get } = resources.caller(PodResourcesListerDefinition);
  const { podResources } = await get({ podName: "p51", podNamespace: "default" });
  assert.deepEqual(
    podResources?.containers[0]?.dynamicResources.map(({ claimName, claimResources }) => [
      claimName,
      claimResources[0]?.driverName,
    ]),
    [["c51", otherName]],
  );
  await cluster.admin
    .resource(Pod)
    .patch({ namespace: "default", name: "p51" }, "merge", { spec: { activeDeadlineSeconds: 1 } });
  const ended = await becomes("p51", ({ status }) => status?.phase === "Failed");
  assert.equal(health(ended), "claim:gpu Unhealthy dead");
  assert.deepEqual(other.calls, ["prepare c51", "unprepare c51"]);
  await assert.rejects(
    get({ podName: "p51", podNamespace: "default" }),
    /pod p51 in namespace default not found/,
  );
  resources.close();
  await cluster.admin
    .resource(Pod)
    .delete(
      { namespace: "default", name: "p51" },
      { gracePeriodSeconds: 0, preconditions: { uid: created.metadata.uid } },
    );
  await eventually(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
  await other.close();
});

test("a claim made again under its name waits until the old one is unprepared", async () => {
  driver.calls.length = 0;
  await podWithClaim("p6", "c6", "sleep 1000");
  await becomes("p6", running);
  driver.unprepareError = "device is busy";
  const claims = cluster.admin.resource(ResourceClaim);
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p6" }, { gracePeriodSeconds: 0 });
  await claims.delete({ namespace: "default", name: "c6" });
  await podWithClaim("p7", "c6", "sleep 1000");
  await eventually(async () =>
    assert.ok(
      (await events("p7")).some((event) =>
        /old ResourceClaim with same name c6 and different UID \S+ still exists \(previous pod force-deleted\?!\)/.test(
          event,
        ),
      ),
    ),
  );
  // Retried again and again, but reported once, since the pod is gone.
  await eventually(async () => assert.ok(driver.calls.filter((call) => call === "unprepare c6").length >= 3));
  const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
  assert.deepEqual(
    items
      .filter(({ involvedObject: { name }, reason }) => name === "p6" && reason?.startsWith("FailedUnp"))
      .map(({ count }) => count),
    [1],
  );
  driver.unprepareError = "";
  await becomes("p7", running);
  assert.deepEqual(
    driver.calls.filter((call, i) => call !== driver.calls[i - 1]),
    ["prepare c6", "unprepare c6", "prepare c6"],
  );
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p7" }, { gracePeriodSeconds: 0 });
  await eventually(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
});

const devices = (): unknown[] =>
  checkpoint().ClaimInfoStateList.map(
    ({ DriverState }) =>
      (DriverState as Record<string, { Devices: { DeviceName: string }[] | null }>)[name]?.Devices?.[0]
        ?.DeviceName,
  );

for (const restarted of [false, true])
  test(`a claim allocated anew waits for the pod of its earlier allocation${restarted ? ", agent restarted" : ""}`, async () => {
    driver.calls.length = 0;
    const [old, next, claim] = restarted ? ["p22", "p23", "c22"] : ["p20", "p21", "c20"];
    await podWithClaim(old, claim, "sleep 1000");
    await becomes(old, running);
    driver.unprepareError = "device is busy";
    const pods = cluster.admin.resource(Pod);
    if (restarted) {
      await node.stop({ leavePods: true });
      node = await cluster.node("n1");
    }
    await pods.delete({ namespace: "default", name: old }, { gracePeriodSeconds: 0 });
    driver.device = "gpu-1";
    await podWithClaim(next, claim, "sleep 1000", "gpu-1");
    await eventually(async () =>
      assert.ok(
        (await events(next)).some((event) =>
          event.includes(`claim default/${claim} is still prepared for an earlier allocation`),
        ),
      ),
    );
    assert.deepEqual(devices(), ["gpu-0"]);
    driver.unprepareError = "";
    await becomes(next, running);
    assert.deepEqual(devices(), ["gpu-1"]);
    assert.deepEqual(
      driver.calls.filter((call, i) => call !== driver.calls[i - 1]),
      [`prepare ${claim}`, `unprepare ${claim}`, `prepare ${claim}`],
    );
    driver.device = "gpu-0";
    await pods.delete({ namespace: "default", name: next }, { gracePeriodSeconds: 0 });
    await eventually(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
  });

test("a claim allocated anew that nobody else holds is unprepared first, then prepared", async () => {
  driver.calls.length = 0;
  driver.prepareError = "not yet";
  await podWithClaim("p24", "c24", "sleep 1000");
  await eventually(async () => assert.deepEqual(driver.calls, ["prepare c24"]));
  const claims = cluster.admin.resource(ResourceClaim);
  const claim = await claims.get({ namespace: "default", name: "c24" });
  const results = [{ request: "gpu", driver: name, pool: "pool", device: "gpu-1" }];
  const free = await claims.update({ ...claim, status: {} }, { subresource: "status" });
  await claims.update(
    { ...free, status: { ...claim.status, allocation: { devices: { results } } } },
    { subresource: "status" },
  );
  driver.device = "gpu-1";
  driver.prepareError = "";
  await becomes("p24", running);
  assert.deepEqual(
    driver.calls.filter((call, i) => call !== driver.calls[i - 1]),
    ["prepare c24", "unprepare c24", "prepare c24"],
  );
  assert.deepEqual(devices(), ["gpu-1"]);
  driver.device = "gpu-0";
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p24" }, { gracePeriodSeconds: 0 });
  await eventually(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
});

test("a pod that is not in reservedFor may not use the claim, and nothing is prepared", async () => {
  driver.calls.length = 0;
  await podWithClaim("p8", "c8", "sleep 1000");
  await becomes("p8", running);
  await cluster.admin.resource(Pod).create(
    podOn("n1", "p9", {
      resourceClaims: [{ name: "gpu", resourceClaimName: "c8" }],
      containers: [{ name: "main", command: ["sleep", "1000"] }],
    }),
  );
  await eventually(async () =>
    assert.ok(
      (await events("p9")).some((event) =>
        /pod p9 \(\S+\) is not allowed to use ResourceClaim c8/.test(event),
      ),
    ),
  );
  assert.deepEqual(driver.calls, ["prepare c8"]);
  for (const pod of ["p8", "p9"])
    await cluster.admin.resource(Pod).delete({ namespace: "default", name: pod }, { gracePeriodSeconds: 0 });
  await eventually(async () => assert.deepEqual(driver.calls, ["prepare c8", "unprepare c8"]));
});

test("a pod deleted while its claim is being prepared is unprepared, and its container never starts", async () => {
  driver.calls.length = 0;
  let open = (): void => {};
  driver.gate = new Promise((resolve) => {
    open = resolve;
  });
  await podWithClaim("p10", "c10", "sleep 1000");
  await eventually(async () => assert.deepEqual(driver.calls, ["prepare c10"]));
  assert.deepEqual(
    checkpoint().ClaimInfoStateList.map((claim) => claim.ClaimName),
    ["c10"],
    "kept before the call",
  );
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p10" });
  open();
  await eventually(async () => assert.deepEqual(driver.calls, ["prepare c10", "unprepare c10"]));
  await eventually(async () => assert.deepEqual((await cluster.admin.resource(Pod).list()).items, []));
  assert.ok(!(await events("p10")).some((event) => event.startsWith("Started")));
});

test("rolling update: the newest instance is called, and the older again when that goes", async () => {
  const newer = await testDriver(root(), name, "-2");
  await eventually(async () => assert.equal(newer.registered.length, 1));
  driver.calls.length = 0;
  await podWithClaim("p11", "c11", "sleep 1000");
  await becomes("p11", running);
  assert.deepEqual([driver.calls, newer.calls], [[], ["prepare c11"]]);
  await newer.close();
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p11" }, { gracePeriodSeconds: 0 });
  await eventually(async () => assert.deepEqual(driver.calls, ["unprepare c11"]));
});

test("a container whose devices are not known does not start", async () => {
  driver.calls.length = 0;
  await podWithClaim("p30", "c30", "sleep 1000");
  const before = await becomes("p30", running);
  await node.stop({ leavePods: true });
  // The checkpoint was removed while the agent was away.
  rmSync(join(root(), "var/lib/kubelet/dra_manager_state"));
  node = await cluster.node("n1");
  const id = before.status?.containerStatuses?.[0]?.containerID?.replace("host://", "") ?? "";
  const start = readFileSync(join(root(), "var/lib/dray/containers", id, "start"), "utf8");
  process.kill(Number(/^started (\d+)/.exec(start)?.[1]), "SIGKILL");
  const { status } = await podBecomes(
    cluster.admin,
    { namespace: "default", name: "p30" },
    (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError",
  );
  assert.equal(
    status?.containerStatuses?.[0]?.state?.waiting?.message,
    "unable to get information for ResourceClaim c30",
  );
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p30" }, { gracePeriodSeconds: 0 });
  await eventually(async () =>
    assert.ok(!(await cluster.admin.resource(Pod).list()).items.some((pod) => pod.metadata.name === "p30")),
  );
});

test("claims are prepared once the pod's volumes are in place", async () => {
  driver.calls.length = 0;
  await podWithClaim("p32", "c31", "sleep 1000", "gpu-0", {
    volumes: [{ name: "v", configMap: { name: "late" } }],
  });
  await eventually(async () =>
    assert.ok((await events("p32")).some((event) => event.startsWith("FailedMount"))),
  );
  assert.deepEqual(driver.calls, []);
  await cluster.admin
    .resource(ConfigMap)
    .create({ metadata: { namespace: "default", name: "late" }, data: { a: "b" } });
  await becomes("p32", running);
  assert.deepEqual(driver.calls, ["prepare c31"]);
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p32" }, { gracePeriodSeconds: 0 });
  await eventually(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
});

test("a claim of a pod group is for its pods alone", async () => {
  driver.calls.length = 0;
  for (const [pod, group, reservation, runs] of [
    [
      "p33",
      "trains",
      { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "trains", uid: "g" },
      true,
    ],
    [
      "p34",
      "trains",
      { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "others", uid: "h" },
      false,
    ],
    [
      "p35",
      undefined,
      { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "trains", uid: "g" },
      false,
    ],
    ["p36", "trains", { apiGroup: "example.com", resource: "podgroups", name: "trains", uid: "g" }, false],
  ] as const) {
    // As with groups of pods enabled.
    const object = { ...podOn("n1", pod, { containers: [{ name: "main", command: ["sleep", "1000"] }] }) };
    const reserved = { metadata: { namespace: "default", name: `${pod}-c`, uid: "u" }, status: {} };
    const claim = {
      ...reserved,
      status: { allocation: { devices: { results: [] } }, reservedFor: [reservation] },
    };
    const manager = new DraManager({
      client: { resource: () => ({ get: async () => claim }) } as unknown as Client,
      plugins: new DraPlugins(silentLog),
      checkpoint: join(root(), `${pod}.state`),
      log: silentLog,
      released: () => {},
    });
    const prepared = manager.prepare({
      ...object,
      metadata: { ...object.metadata, uid: "p" },
      spec: {
        ...object.spec,
        resourceClaims: [{ name: "gpu", resourceClaimName: `${pod}-c` }],
        ...(group === undefined ? {} : { schedulingGroup: { podGroupName: group } }),
      },
    } as unknown as Pod);
    if (runs) await prepared;
    else await assert.rejects(prepared, /is not allowed to use ResourceClaim/);
  }
});

test("CDI edits that the runtime does not make are named in an event, once", async () => {
  driver.edits = {
    hooks: [{ hookName: "createContainer", path: "/bin/true" }],
  };
  await podWithClaim("p40", "c40", "sleep 1000", "gpu-40");
  await becomes("p40", running);
  driver.edits = {};
  const left = async () => (await events("p40")).filter((event) => event.startsWith("UnsupportedByRuntime"));
  await eventually(async () =>
    assert.deepEqual(await left(), [
      'UnsupportedByRuntime: Container main runs without hooks of CDI devices: the runtime "host" does not support that',
    ]),
  );
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "p40" }, { gracePeriodSeconds: 0 });
  await eventually(async () => assert.ok(driver.calls.includes("unprepare c40")));
});

test("stop without leaving pods ends processes, claims and leaves no mount", async () => {
  driver.calls.length = 0;
  await podWithClaim("p5", "c5", "exec sleep 98765");
  await becomes("p5", running);
  await node.stop({ leavePods: false });
  assert.deepEqual(driver.calls, ["prepare c5", "unprepare c5"]);
  const commands = readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && existsSync(`/proc/${pid}/cmdline`))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        return "";
      }
    });
  assert.ok(!commands.some((command) => command.includes("98765")));
  assert.ok(!readFileSync("/proc/self/mountinfo", "utf8").includes(root()));
  await driver.close();
});
