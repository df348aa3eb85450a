import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ResourceSlice } from "@dray/api/resource/v1";
import { cdiRegistry } from "@dray/cdi";
import { driverName, nodeName, type TestNode, testNode, until } from "./testing/node.ts";

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
  const [slice] = await until(async () => {
    const found = await slices();
    return found.length > 0 && found;
  }, `slices; the driver says ${driver.log()}`);
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
    `GPU_DEVICE_0_RESOURCE_CLAIM=${uid}`,
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
  await until(async () => (await slices()).length > 0, `slices; the driver says ${driver.log()}`);
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
  // As a reboot would have it: the folder of generated specs is gone.
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
    await until(() => existsSync(mark), `the driver is in ${step}`);
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

test("slices that somebody wipes come back; an environment that is wrong ends the program and says why", async () => {
  const driver = await node.start(program);
  await until(async () => (await slices()).length === 1, "slices");
  await node.admin.resource(ResourceSlice).deleteCollection({ fieldSelector: `spec.nodeName=${nodeName}` });
  await until(async () => (await slices()).length === 1, "slices again");
  assert.equal(await driver.end("SIGTERM"), 0, driver.log());

  const wrong = await node.start(program, { NUM_DEVICES: "nine" });
  assert.equal(await wrong.end("SIGTERM"), 1);
  assert.match(wrong.log(), /NUM_DEVICES \\"nine\\" must be an integer/);
});
