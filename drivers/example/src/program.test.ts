import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ClusterRole, ClusterRoleBinding } from "@dray/api/rbac/v1";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { cdiRegistry } from "@dray/cdi";
import { silentLog, systemClock } from "@dray/client";
import { tcpChannel } from "@dray/rpc";
import { HealthDefinition, HealthCheckResponse_ServingStatus as Status } from "@dray/rpc/grpchealth/v1";
import { eventually } from "@dray/testing/eventually";
import { runController } from "./index.ts";
import { driverName, nodeName, type TestNode, testNode } from "./testing/node.ts";

const program = join(import.meta.dirname, "main.ts");
const stuck = join(import.meta.dirname, "testing", "stuck.ts");

let node: TestNode;
before(async () => {
  node = await testNode();
});
after(() => node.close());

const slices = async () => (await node.admin.resource(ResourceSlice).list()).items;

test("the tutorial's driver, with the tutorial's permissions: slices, prepare, unprepare, SIGTERM", async () => {
  const driver = await node.start(program);
  const [slice] = await eventually(`slices; the driver says ${driver.log()}`, async () => {
    const found = await slices();
    return found.length > 0 && found;
  });
  assert.match(slice!.metadata.name, /^kind-worker-gpu\.example\.com-[a-z0-9]{5}$/);
  assert.equal(slice!.spec.nodeName, nodeName);
  assert.equal(slice!.spec.pool.name, nodeName);
  assert.deepEqual(
    slice!.spec.devices?.map(({ name }) => name),
    [0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => `gpu-${i}`),
  );
  assert.equal(slice!.metadata.ownerReferences?.[0]?.kind, "Node");

  const claim = await node.claim("some-gpu", "gpu-0");
  const { uid } = claim.metadata;
  const answer = await node.prepare(claim);
  assert.equal(answer.error, "");
  const ids = [`k8s.gpu.example.com/gpu=common`, `k8s.gpu.example.com/gpu=${uid}-gpu-0`];
  assert.deepEqual(answer.devices[0]?.cdiDeviceIds, ids);
  const { env } = await cdiRegistry([node.cdi]).resolve(ids);
  assert.deepEqual(env, [
    "KUBERNETES_NODE_NAME=kind-worker",
    "DRA_RESOURCE_DRIVER_NAME=gpu.example.com",
    "GPU_DEVICE_0=gpu-0",
    "GPU_DEVICE_0_SHARING_STRATEGY=TimeSlicing",
    "GPU_DEVICE_0_TIMESLICE_INTERVAL=Default",
    `GPU_DEVICE_GPU_0_RESOURCE_CLAIM=${uid}`,
    "DRA_ADMIN_ACCESS=false",
  ]);
  assert.equal(await node.unprepare(claim), "");
  const stamp = String.raw`I\d{4} \d\d:\d\d:\d\d\.\d{6} +${driver.process.pid} [\w.]+:\d+\] `;
  for (const line of [
    "PrepareResourceClaims is called: number of claims: 1",
    `Returning newly prepared devices for claim '${uid}': \\[{\\[some-gpu\\] kind-worker gpu-0 \\[k8s.gpu.example.com/gpu=common k8s.gpu.example.com/gpu=${uid}-gpu-0\\]}\\]`,
    "UnprepareResourceClaims is called: number of claims: 1",
  ]) {
    assert.match(driver.log(), new RegExp(`^${stamp}${line}$`, "m"));
  }
  assert.equal(await driver.end("SIGTERM"), 0, driver.log());
  assert.deepEqual([existsSync(node.registration), existsSync(node.dra)], [false, false]);
  assert.equal((await slices()).length, 1, "the slices are left to the kubelet");
});

test("a log that can no longer be written does not end the program", async () => {
  const driver = await node.start(program);
  await eventually(`slices; the driver says ${driver.log()}`, async () => (await slices()).length > 0);
  driver.process.stderr?.destroy();
  const claim = await node.claim("unlogged", "gpu-1");
  for (let time = 0; time < 3; time++) assert.equal((await node.prepare(claim)).error, "");
  assert.equal(await node.unprepare(claim), "");
  assert.equal(await driver.end("SIGTERM"), 0);
});

test("kill -9: the next start answers the same, gives no device twice, and still unprepares", async () => {
  const first = await node.start(program);
  const claim = await node.claim("survivor", "gpu-1");
  const answer = await node.prepare(claim);
  assert.equal(await first.end("SIGKILL"), "SIGKILL");
  rmSync(node.registration);
  // Simulates a reboot: the folder of generated specs is gone.
  rmSync(node.cdi, { recursive: true });

  const second = await node.start(program);
  const rival = await node.claim("rival", "gpu-1");
  assert.match((await node.prepare(rival)).error, /gpu-1 is still prepared for claim default\/survivor/);
  assert.deepEqual(await node.prepare(claim), answer);
  await cdiRegistry([node.cdi]).resolve(answer.devices[0]!.cdiDeviceIds);
  assert.equal(await node.unprepare(claim), "");
  assert.equal((await node.prepare(rival)).error, "");
  assert.equal(await node.unprepare(rival), "");
  assert.deepEqual(readdirSync(node.claims), []);
  assert.equal(await second.end("SIGTERM"), 0);
  const [slice, ...others] = await slices();
  assert.equal(others.length, 0, "no slices were left over");
  assert.equal(slice!.spec.pool.generation, 1);
});

for (const step of ["prepare", "unprepare"] as const) {
  test(`kill -9 in the middle of ${step}: it can be done again, and undone without a trace`, async () => {
    const claim = await node.claim(`torn-${step}`, "gpu-2");
    const mark = join(node.root, `mark-${step}`);
    const torn = await node.start(stuck, { STUCK_IN: step, STUCK_MARK: mark });
    if (step === "unprepare") await node.prepare(claim);
    const call = node[step](claim).catch(() => {});
    await eventually(`the driver is in ${step}`, () => existsSync(mark));
    assert.deepEqual(readdirSync(node.claims), [`${claim.metadata.uid}.json`], "the checkpoint came first");
    await torn.end("SIGKILL");
    await call;
    rmSync(node.registration);

    const next = await node.start(program);
    const answer = await node.prepare(claim);
    assert.equal(answer.error, "");
    await cdiRegistry([node.cdi]).resolve(answer.devices[0]!.cdiDeviceIds);
    assert.equal(await node.unprepare(claim), "");
    assert.deepEqual(readdirSync(node.claims), []);
    assert.deepEqual(readdirSync(node.cdi), [`k8s.${driverName}-gpu_common.json`]);
    assert.equal(await next.end("SIGTERM"), 0);
  });
}

test("deleted slices are restored; an invalid environment ends the program with the reason", async () => {
  const driver = await node.start(program);
  await eventually("slices", async () => (await slices()).length === 1);
  await node.admin.resource(ResourceSlice).deleteCollection({ fieldSelector: `spec.nodeName=${nodeName}` });
  await eventually("slices again", async () => (await slices()).length === 1);
  assert.equal(await driver.end("SIGTERM"), 0, driver.log());

  const wrong = await node.start(program, { NUM_DEVICES: "nine" });
  assert.equal(await wrong.end("SIGTERM"), 1);
  assert.match(wrong.log(), /NUM_DEVICES \\"nine\\" must be an integer/);
});

test("partitions that do not divide a GPU evenly are published, counters in a slice of their own", async () => {
  const driver = await node.start(program, {
    NUM_DEVICES: "2",
    GPU_PARTITIONS: "3",
    GPU_ALLOW_MULTIPLE_ALLOCATIONS: "true",
    BINDING_CONDITIONS: "true",
  });
  const published = await eventually(`two slices; the driver says ${driver.log()}`, async () => {
    const found = await slices();
    return found.length === 2 && found;
  });
  const specs = published
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map(({ spec }) => [spec.sharedCounters?.length, spec.devices?.length]);
  assert.deepEqual(specs, [
    [2, undefined],
    [undefined, 8],
  ]);
  assert.equal(await driver.end("SIGTERM"), 0, driver.log());
  assert.doesNotMatch(driver.log(), /dropped fields/);
});

test("health check and metrics, at ports that are free", async () => {
  const driver = await node.start(program, {
    HEALTHCHECK_PORT: "0",
    METRICS_PORT: "0",
    DRAY_POD_IP: "127.0.0.1",
    GPU_PARTITIONS: "0",
    CPU_NUMA_NODES: "3",
  });
  const address = (what: string) =>
    eventually(
      `${what}; the driver says ${driver.log()}`,
      () => new RegExp(`"${what}" address="([^"]+)"`).exec(driver.log())?.[1],
    );
  const channel = tcpChannel(await address("Serving the health check"));
  const { status } = await channel.caller(HealthDefinition).check({ service: "liveness" }, { timeout: 5000 });
  assert.equal(status, Status.SERVING);
  channel.close();
  const scrape = async () => (await fetch(`http://${await address("Serving metrics")}/metrics`)).text();
  const counter = (operation: string, result: string, value: number) =>
    `dra_example_driver_${operation}_claims_total{result="${result}"} ${value}\n`;
  const before = await scrape();
  assert.match(before, /^rest_client_requests_total{code="200",method="GET",host="127\.0\.0\.1:\d+"} \d+$/m);
  for (const operation of ["prepare", "unprepare"])
    for (const result of ["success", "error"])
      assert.ok(before.includes(counter(operation, result, 0)), before);

  const claim = await node.claim("measured", "gpu-3");
  assert.equal((await node.prepare(claim)).error, "");
  const rival = await node.claim("measured-rival", "gpu-3");
  assert.notEqual((await node.prepare(rival)).error, "");
  assert.equal(await node.unprepare(claim), "");
  const text = await scrape();
  assert.ok(text.includes(counter("prepare", "success", 1)), text);
  assert.ok(text.includes(counter("prepare", "error", 1)), text);
  assert.ok(text.includes(counter("unprepare", "success", 1)), text);
  const duration = "dra_example_driver_prepare_claim_duration_seconds";
  assert.ok(text.includes(`${duration}_bucket{result="success",le="+Inf"} 1\n`), text);
  assert.ok(text.includes(`${duration}_count{result="error"} 1\n`), text);
  assert.ok(text.includes("dra_example_driver_fatal_background_errors_total 0\n"), text);
  assert.match(driver.log(), /CPU_NUMA_NODES has no meaning for this profile and is ignored/);
  assert.equal(await driver.end("SIGTERM"), 0, driver.log());
});

test("the status of devices: attributes of this driver's; without the right to write them the claim is prepared all the same", async () => {
  const driver = await node.start(program, { GPU_DEVICE_STATUS: "true" });
  const claim = await node.claim("with-status", "gpu-4");
  const { namespace, name } = claim.metadata;
  assert.equal((await node.prepare(claim)).error, "");
  assert.match(driver.log(), /"The status of devices cannot be written" claim="default\/with-status"/);
  assert.equal(await node.unprepare(claim), "");

  await node.admin.resource(ClusterRole).create({
    metadata: { name: "device-status" },
    rules: [
      { apiGroups: ["resource.k8s.io"], resources: ["resourceclaims/status"], verbs: ["update"] },
      {
        apiGroups: ["resource.k8s.io"],
        resources: ["resourceclaims/driver"],
        resourceNames: [driverName],
        // The token of this test belongs to no pod.
        verbs: ["arbitrary-node:update"],
      },
    ],
  });
  await node.admin.resource(ClusterRoleBinding).create({
    metadata: { name: "device-status" },
    subjects: [{ kind: "ServiceAccount", name: "dra-example-driver-service-account", namespace: "default" }],
    roleRef: { kind: "ClusterRole", name: "device-status", apiGroup: "rbac.authorization.k8s.io" },
  });
  const claims = node.admin.resource(ResourceClaim);
  await eventually(`the status; the driver says ${driver.log()}`, async () => {
    assert.equal((await node.prepare(claim)).error, "");
    const [device] = (await claims.get({ namespace: namespace!, name })).status?.devices ?? [];
    assert.equal(await node.unprepare(claim), "");
    if (device === undefined) return false;
    const { uuid, ...data } = device.data as Record<string, object>;
    assert.equal(device.device, "gpu-4");
    assert.deepEqual(data, { model: { string: "LATEST-GPU-MODEL" }, driverVersion: { version: "1.0.0" } });
    assert.ok(uuid);
    return true;
  });
  assert.equal(await driver.end("SIGTERM"), 0, driver.log());
});

test("the controller sets the binding conditions of its driver's devices", async () => {
  const stop = new AbortController();
  const running = runController(
    { driverName, plugins: ["BindingConditions"] },
    { client: node.admin, clock: systemClock, log: silentLog, signal: stop.signal },
  );
  const claims = node.admin.resource(ResourceClaim);
  const claim = await node.claim("to-be-bound", "gpu-5");
  const [result] = claim.status!.allocation!.devices!.results!;
  const waiting = {
    ...result!,
    bindingConditions: ["BindingConditions"],
    bindingFailureConditions: ["BindingFailureConditions"],
  };
  // As the scheduler does: the allocation of a claim cannot change.
  await claims.update({ ...claim, status: {} }, { subresource: "status" });
  const pending = await claims.get({ namespace: "default", name: "to-be-bound" });
  await claims.update(
    { ...pending, status: { allocation: { devices: { results: [waiting] } } } },
    { subresource: "status" },
  );
  const conditions = await eventually("a condition", async () => {
    const { status } = await claims.get({ namespace: "default", name: "to-be-bound" });
    return status?.devices?.[0]?.conditions;
  });
  assert.deepEqual(
    conditions.map(({ type, status, reason, message }) => ({ type, status, reason, message })),
    [{ type: "BindingConditions", status: "True", reason: "Ready", message: "Device is ready" }],
  );
  stop.abort();
  await running;
});
