import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { ResourceClaim } from "@dray/api/resource/v1";
import { HealthStatus } from "@dray/rpc/drahealth/v1";
import { eventually } from "@dray/testing/eventually";
import { createSimulation, nodeName, type Simulation, setHealth } from "../testing/simulation.ts";

const driver = "gpu.example.com";

let simulation: Simulation;
beforeEach(async () => {
  simulation = await createSimulation();
});
afterEach(() => simulation.close());

/** A fleet of the node with these devices, as flow YAML. */
const withDevices = (devices: string, more = ""): string =>
  `nodes: [{name: ${nodeName}, drivers: [{driver: ${driver}, pools: [{devices: ${devices}}]${more}}]}]`;

const stateFiles = (profile: string): unknown[] => {
  const folder = join(simulation.node.pluginsDirectory, driver, profile);
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")));
};

test("containers get variables that name their devices, and what the fleet gives them", async () => {
  await simulation.start(withDevices(`[{name: "gpu-{index}", count: 2, env: {COLOUR: "{device}"}}]`), [
    driver,
  ]);
  const slices = await eventually("slices", async () => {
    const found = await simulation.slices(driver);
    return found.length > 0 && found;
  });
  assert.deepEqual(
    slices.map(({ spec }) => [spec.nodeName, spec.pool.name, spec.devices?.map(({ name }) => name)]),
    [[nodeName, nodeName, ["gpu-0", "gpu-1"]]],
  );
  const claim = await simulation.claim([
    { driver, device: "gpu-1" },
    {
      driver,
      device: "gpu-0",
      shareID: "2f0b0a10-9d8f-4f2c-a0ff-3f1f0c5d9b11",
      consumedCapacity: { memory: "4Gi" },
    },
  ]);
  const answer = await simulation.prepare(driver, claim);
  assert.equal(answer.error, "");
  const { uid } = claim.metadata;
  assert.deepEqual((await simulation.edits(answer)).env, [
    `DRA_DEVICE_GPU_EXAMPLE_COM_GPU_1=${nodeName}/gpu-1`,
    `DRA_DEVICE_GPU_EXAMPLE_COM_GPU_1_RESOURCE_CLAIM=${uid}`,
    "COLOUR=gpu-1",
    `DRA_DEVICE_GPU_EXAMPLE_COM_GPU_0=${nodeName}/gpu-0`,
    `DRA_DEVICE_GPU_EXAMPLE_COM_GPU_0_RESOURCE_CLAIM=${uid}`,
    "DRA_DEVICE_GPU_EXAMPLE_COM_GPU_0_SHARE_ID=2f0b0a10-9d8f-4f2c-a0ff-3f1f0c5d9b11",
    "DRA_DEVICE_GPU_EXAMPLE_COM_GPU_0_MEMORY=4Gi",
    "COLOUR=gpu-0",
  ]);
  assert.equal(await simulation.unprepare(driver, claim), "");
  assert.deepEqual(readdirSync(simulation.node.cdiDirectory), []);
});

test("prepare has its delay and its failures, and rejects devices that the fleet lacks", async () => {
  await simulation.start(
    withDevices(
      `[{name: slow, prepareDelay: 300ms}, {name: flaky, prepareFails: {times: 2, message: no firmware}}, {name: dead, prepareFails: true}]`,
    ),
    [driver],
  );
  const slow = await simulation.claim([{ driver, device: "slow" }]);
  const begun = performance.now();
  assert.equal((await simulation.prepare(driver, slow)).error, "");
  assert.ok(performance.now() - begun >= 290);

  const flaky = await simulation.claim([{ driver, device: "flaky" }]);
  for (const message of [/: device n1\/flaky: no firmware \(1 of 2\)$/, /: no firmware \(2 of 2\)$/, /^$/])
    assert.match((await simulation.prepare(driver, flaky)).error, message);

  const dead = await simulation.claim([{ driver, device: "dead" }]);
  for (let i = 0; i < 3; i++)
    assert.match((await simulation.prepare(driver, dead)).error, /: device n1\/dead: simulated failure$/);

  const gone = await simulation.claim([{ driver, device: "gone" }]);
  assert.match(
    (await simulation.prepare(driver, gone)).error,
    /: the fleet has no device n1\/gone of gpu\.example\.com for n1$/,
  );
});

test("health by schedule and by people reaches slices and the health stream, and outlives the driver", async () => {
  const fleet = withDevices(
    `[{name: gpu-0, health: [{after: 200ms, health: Unhealthy, message: hot}]},
      {name: gpu-1, unhealthyTaint: {key: example.com/ecc, effect: NoExecute}}]`,
  );
  const run = await simulation.start(fleet, [driver]);
  const taints = async () =>
    Object.fromEntries(
      (await simulation.slices(driver)).flatMap(({ spec }) =>
        (spec.devices ?? []).map(({ name, taints = [] }) => [
          name,
          taints.map(({ key, value, effect }) => `${key}=${value ?? ""}:${effect}`).join(),
        ]),
      ),
    );
  await eventually(
    "the schedule",
    async () => (await taints())["gpu-0"] === `${driver}/unhealthy=true:NoSchedule`,
  );

  const ref = { driver, pool: nodeName, device: "gpu-1" };
  await setHealth(simulation.client, { ...ref, health: "Unhealthy", message: "ECC", since: Date.now() });
  await eventually("a person's word", async () => (await taints())["gpu-1"] === "example.com/ecc=:NoExecute");
  await setHealth(simulation.client, { ...ref, device: "gpu-0", health: "Healthy", since: Date.now() });
  await eventually("the newest word counts", async () => (await taints())["gpu-0"] === "");
  await simulation.watchHealth(driver, ({ devices }) => {
    const all = devices.map(({ device, health, message }) => [device?.deviceName, health, message]);
    assert.deepEqual(all, [
      ["gpu-0", HealthStatus.HEALTHY, ""],
      ["gpu-1", HealthStatus.UNHEALTHY, "ECC"],
    ]);
    return true;
  });

  await run.stop();
  await simulation.start(fleet, [driver]);
  await simulation.watchHealth(driver, ({ devices }) => {
    assert.equal(devices[1]?.health, HealthStatus.UNHEALTHY, "kept over the restart");
    return true;
  });
  await setHealth(simulation.client, { ...ref, health: "Healthy", since: Date.now() });
  await eventually("healed", async () => (await taints())["gpu-1"] === "");
});

test("fpga: a claim's bitstream is loaded, and the idle image comes back", async () => {
  await simulation.start(
    withDevices(
      "[{name: card-0}]",
      ", profile: fpga, options: {programTime: 100ms, bitstreams: [compress], idleImage: blank}",
    ),
    [driver],
  );
  const config = { apiVersion: "fpga.dray.dev/v1alpha1", kind: "FpgaConfig" };
  for (const [parameters, message] of [
    [
      { ...config, bitstream: "mine" },
      /FpgaConfig: bitstream: "mine" is not supported, supported are "compress"$/,
    ],
    [{ ...config, stream: "a" }, /FpgaConfig: stream: unknown field; known are apiVersion, bitstream, kind$/],
    [
      { ...config, kind: "GpuConfig" },
      /FpgaConfig: kind: "GpuConfig" is not supported, supported are "FpgaConfig"$/,
    ],
  ] as const) {
    const claim = await simulation.claim([{ driver, device: "card-0" }], parameters);
    assert.match((await simulation.prepare(driver, claim)).error, message);
    assert.equal(await simulation.unprepare(driver, claim), "");
    assert.deepEqual(stateFiles("fpga"), [], "nothing was loaded");
  }
  const claim = await simulation.claim([{ driver, device: "card-0" }], { ...config, bitstream: "compress" });
  const begun = performance.now();
  const answer = await simulation.prepare(driver, claim);
  assert.equal(answer.error, "");
  assert.ok(performance.now() - begun >= 95);
  assert.ok(
    (await simulation.edits(answer)).env?.includes("DRA_DEVICE_GPU_EXAMPLE_COM_CARD_0_BITSTREAM=compress"),
  );
  const states = () =>
    (stateFiles("fpga") as { image: string; state: string; claim?: string }[]).map(
      ({ image, state, claim }) => [image, state, claim],
    );
  assert.deepEqual(states(), [["compress", "Loaded", claim.metadata.uid]]);
  assert.equal(await simulation.unprepare(driver, claim), "");
  assert.deepEqual(states(), [["blank", "Loaded", undefined]]);
});

test("partitions: created at prepare, destroyed at unprepare; the start destroys those of a crash", async () => {
  const fleet = withDevices(
    `[{name: gpu-0, counters: {memory: 2}, partitions: [{name: "part-{index}", count: 2, counters: {memory: 1}}]}]`,
    ", profile: partitions",
  );
  const run = await simulation.start(fleet, [driver]);
  const held = await simulation.claim([{ driver, device: "part-0" }]);
  const left = await simulation.claim([{ driver, device: "part-1" }]);
  const answer = await simulation.prepare(driver, held);
  assert.equal(answer.error, "");
  assert.ok(
    (await simulation.edits(answer)).env?.includes("DRA_DEVICE_GPU_EXAMPLE_COM_PART_0_PARTITION_OF=gpu-0"),
  );
  assert.equal((await simulation.prepare(driver, left)).error, "");
  const devices = () => (stateFiles("partitions") as { device: string }[]).map(({ device }) => device).sort();
  assert.deepEqual(devices(), ["part-0", "part-1"]);
  const whole = await simulation.claim([{ driver, device: "gpu-0" }]);
  assert.equal((await simulation.prepare(driver, whole)).error, "");
  assert.deepEqual(devices(), ["part-0", "part-1"], "a whole device is no partition");
  await run.stop();

  // As if the machine had lost the checkpoint with a crash between two writes.
  const claims = join(simulation.node.pluginsDirectory, driver, "claims");
  rmSync(join(claims, `${left.metadata.uid}.json`));
  await simulation.start(fleet, [driver]);
  assert.deepEqual(devices(), ["part-0"]);
  assert.equal((await simulation.prepare(driver, held)).error, "", "the answer is the same after a restart");
  assert.equal(await simulation.unprepare(driver, held), "");
  assert.deepEqual(devices(), []);
});

const sriovFleet = (interfaces: string): string =>
  withDevices(
    `[{name: "vf-{index}", count: 2, attributes: {interface: "pf0v{index}"}}]`,
    `, profile: sriov, options: {interfaces: ${interfaces}, subnet: 10.9.8.0/30}`,
  );

test("sriov: a network device for the pod, and its addresses in the claim's status", async () => {
  await simulation.start(sriovFleet("existing"), [driver]);
  const claim = await simulation.claim([
    { driver, device: "vf-0" },
    { driver, device: "vf-1" },
  ]);
  const answer = await simulation.prepare(driver, claim);
  assert.equal(answer.error, "");
  const { netDevices, env = [] } = await simulation.edits(answer);
  assert.deepEqual(netDevices, [
    { hostInterfaceName: "pf0v0", name: "vf-0" },
    { hostInterfaceName: "pf0v1", name: "vf-1" },
  ]);
  const { name, namespace } = claim.metadata;
  const { status } = await simulation.client.resource(ResourceClaim).get({ name, namespace });
  const data = status?.devices?.map(({ device, networkData }) => [
    device,
    networkData?.interfaceName,
    networkData?.ips,
  ]);
  assert.deepEqual(data, [
    ["vf-0", "vf-0", ["10.9.8.1/30"]],
    ["vf-1", "vf-1", ["10.9.8.2/30"]],
  ]);
  const macs = status?.devices?.map(({ networkData }) => networkData?.hardwareAddress);
  assert.equal(new Set(macs).size, 2);
  for (const [i, mac] of (macs ?? []).entries()) {
    assert.match(mac ?? "", /^02(:[0-9a-f]{2}){5}$/);
    assert.ok(env.includes(`DRA_DEVICE_GPU_EXAMPLE_COM_VF_${i}_MAC=${mac}`));
  }
  assert.equal(await simulation.unprepare(driver, claim), "");
});

/** Returns why this user may not make network devices here. */
function withoutInterfaces(): string | false {
  const name = `vt${process.pid % 1_000_000}`;
  if (spawnSync("ip", ["link", "add", name, "type", "veth", "peer", "name", `${name}p`]).status !== 0)
    return "no rights to make network devices";
  spawnSync("ip", ["link", "delete", name]);
  return false;
}

test("sriov: the interface is made on the host at prepare, and removed at unprepare", async (context) => {
  const why = withoutInterfaces();
  if (why) return context.skip(why);
  await simulation.start(sriovFleet("create"), [driver]);
  const claim = await simulation.claim([{ driver, device: "vf-0" }]);
  const answer = await simulation.prepare(driver, claim);
  assert.equal(answer.error, "");
  const [device] = (await simulation.edits(answer)).netDevices ?? [];
  const shown = execFileSync("ip", ["address", "show", "dev", device!.hostInterfaceName], {
    encoding: "utf8",
  });
  assert.match(shown, /link\/ether 02:/);
  assert.match(shown, /inet 10\.9\.8\.1\/30/);
  assert.equal(await simulation.unprepare(driver, claim), "");
  assert.notEqual(spawnSync("ip", ["link", "show", "dev", device!.hostInterfaceName]).status, 0);
});

test("pools of the network are published without a node, prepared on every node, and break, too", async () => {
  const fabric = "fabric.example.com";
  await simulation.start(
    `network: [{driver: ${fabric}, pools: [{name: f, nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}, devices: [{name: link-0}]}]}]`,
    [fabric],
  );
  const [slice] = await eventually("slices", async () => {
    const found = await simulation.slices(fabric);
    return found.length > 0 && found;
  });
  assert.equal(slice?.spec.nodeName, undefined);
  assert.equal(slice?.spec.nodeSelector?.nodeSelectorTerms?.[0]?.matchExpressions?.[0]?.key, "zone");
  const claim = await simulation.claim([{ driver: fabric, pool: "f", device: "link-0" }]);
  assert.equal((await simulation.prepare(fabric, claim)).error, "");
  assert.equal(await simulation.unprepare(fabric, claim), "");
  await setHealth(simulation.client, {
    driver: fabric,
    pool: "f",
    device: "link-0",
    health: "Unhealthy",
    since: Date.now(),
    effect: "None",
  });
  await eventually("the taint", async () => {
    const [{ spec } = { spec: {} as never }] = await simulation.slices(fabric);
    return spec.devices?.[0]?.taints?.[0]?.effect === "None";
  });
});

test("files describe devices to their containers, where the fleet says so", async () => {
  const devices = "[{name: gpu-0, attributes: {model: A100}}]";
  await simulation.start(withDevices(devices, ", metadata: [v1beta1]"), [driver]);
  const claim = await simulation.claim([{ driver, device: "gpu-0" }]);
  const { mounts = [] } = await simulation.edits(await simulation.prepare(driver, claim));
  const [file, ...others] = mounts;
  assert.deepEqual(others, []);
  const path = `resourceclaims/${claim.metadata.name}/r/${driver}-metadata.json`;
  assert.equal(file?.containerPath, `/var/run/kubernetes.io/dra-device-attributes/${path}`);
  const { apiVersion, requests } = JSON.parse(readFileSync(file.hostPath, "utf8"));
  const attributes = { model: { string: "A100" } };
  assert.deepEqual(
    [apiVersion, requests],
    [
      "metadata.resource.k8s.io/v1beta1",
      [{ name: "r", devices: [{ driver, pool: nodeName, name: "gpu-0", attributes }] }],
    ],
  );
  assert.equal(await simulation.unprepare(driver, claim), "");
  assert.equal(existsSync(file.hostPath), false);
});

test("a claim stays until it is cleaned up after, which a broken device holds up", async () => {
  await simulation.start(withDevices("[{name: erased, cleanUp: 10ms}, {name: plain}]"), [driver]);
  const { client } = simulation;
  const claims = client.resource(ResourceClaim);
  const ref = ({ metadata: { namespace, name } }: ResourceClaim) => ({ namespace, name });
  const isThere = (claim: ResourceClaim) =>
    claims.get(ref(claim)).then(
      () => true,
      () => false,
    );
  const erased = await simulation.claim([{ driver, device: "erased" }]);
  const finalizer = `${driver}/clean-up`;
  await eventually("the finalizer", async () =>
    (await claims.get(ref(erased))).metadata.finalizers?.includes(finalizer),
  );
  const record = { driver, pool: nodeName, device: "erased", since: Date.now() } as const;
  await setHealth(client, { ...record, health: "Unhealthy" });
  await claims.delete(ref(erased));
  const { status: _, ...released } = await claims.get(ref(erased));
  await claims.update({ ...released, status: {} } as ResourceClaim, { subresource: "status" });
  // Other claims are not held up, and one of a device without a clean-up is not held at all.
  const plain = await simulation.claim([{ driver, device: "plain" }]);
  await claims.delete(ref(plain));
  assert.deepEqual([await isThere(plain), await isThere(erased)], [false, true]);
  await setHealth(client, { ...record, health: "Healthy", since: Date.now() + 1 });
  await eventually("the claim goes", async () => !(await isThere(erased)));
});

test("binding conditions become true after a while, or fail", async () => {
  await simulation.start(
    withDevices(
      `[{name: good, bindingConditions: [attached], bindingFailureConditions: [failed], binds: {after: 100ms}},
        {name: bad, bindingConditions: [attached], bindingFailureConditions: [failed], binds: {fails: no port}}]`,
    ),
    [driver],
  );
  const conditions = { bindingConditions: ["attached"], bindingFailureConditions: ["failed"] };
  for (const [device, expected] of [
    ["good", ["attached", "True", "Simulated"]],
    ["bad", ["failed", "True", "SimulatedFailure"]],
  ] as const) {
    const { name, namespace } = (await simulation.claim([{ driver, device, ...conditions }])).metadata;
    const [found] = await eventually(`conditions of ${device}`, async () => {
      const { status } = await simulation.client.resource(ResourceClaim).get({ name, namespace });
      return status?.devices?.[0]?.conditions;
    });
    assert.deepEqual([found?.type, found?.status, found?.reason], expected);
  }
});
