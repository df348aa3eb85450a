import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { tcpChannel, unixChannel } from "@dray/rpc";
import { DRAPluginDefinition } from "@dray/rpc/dra/v1beta1";
import { DRAResourceHealthDefinition } from "@dray/rpc/drahealth/v1alpha1";
import { HealthDefinition } from "@dray/rpc/grpchealth/v1";
import { eventually, holdsFor } from "@dray/testing/eventually";
import { type DeviceHealth, runDriver } from "../index.ts";
import { driverName, type Fixture, fixture, getInfo, notify } from "../testing/internal/fixture.ts";
import { lamps } from "../testing/internal/smallest.ts";

let node: Fixture;
const nodes: Fixture[] = [];
beforeEach(() => {
  node = fixture();
  nodes.push(node);
});
after(() => Promise.all(nodes.map((one) => one.close())));

test("the README begins with the smallest driver, and that is this file", () => {
  const folder = join(import.meta.dirname, "../..");
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  assert.ok(readme.includes(readFileSync(join(folder, "src/testing/internal/smallest.ts"), "utf8").trim()));
});

test("registration has name, endpoint and versions, v1 first; a clean stop removes the sockets", async () => {
  const one = await node.start(lamps);
  assert.deepEqual(await getInfo(node.paths.registration), {
    type: "DRAPlugin",
    name: driverName,
    endpoint: node.paths.dra,
    supportedVersions: ["v1.DRAPlugin", "v1beta1.DRAPlugin"],
  });
  await one.stop();
  assert.deepEqual(readdirSync(node.paths.registrar), []);
  assert.equal(existsSync(node.paths.dra), false);
});

test("v1beta1 returns the same as v1", async () => {
  await node.start(lamps);
  const claim = node.claim("one", [{}]);
  const { uid, namespace, name } = claim.metadata;
  const channel = unixChannel(node.paths.dra);
  const answer = await channel
    .caller(DRAPluginDefinition)
    .nodePrepareResources({ claims: [{ uid, namespace, name }] }, { timeout: 5000 });
  assert.equal(answer.claims[uid]?.devices[0]?.deviceName, "lamp-0");
  channel.close();
});

test("sockets that are deleted come back", async () => {
  await node.start(lamps);
  for (const path of [node.paths.registration, node.paths.dra]) {
    const before = statSync(path).ctimeMs;
    rmSync(path);
    await eventually(`${path} is back`, () => existsSync(path) && statSync(path).ctimeMs > before);
  }
  assert.equal((await getInfo(node.paths.registration)).name, driverName);
});

test("refused by the kubelet: the registration socket is made anew, so that it tries again", async () => {
  await node.start(lamps);
  const before = statSync(node.paths.registration).ctimeMs;
  await notify(node.paths.registration, true);
  await notify(node.paths.registration, false, "not today");
  await eventually(
    "a new socket",
    () => existsSync(node.paths.registration) && statSync(node.paths.registration).ctimeMs > before,
  );
  assert.ok(node.log.some((line) => line.includes("refused") && line.includes("not today")));
});

test("two instances during a rolling update have sockets of their own and know each other's claims", async () => {
  const old = await node.start(lamps, { podUID: "old-pod" });
  const dra = (pod: string) => join(node.paths.plugins, driverName, `dra-${pod}.sock`);
  const registration = (pod: string) => join(node.paths.registrar, `${driverName}-${pod}-reg.sock`);
  await eventually("the first is up", () => existsSync(registration("old-pod")));
  const claim = node.claim("one", [{}]);
  const ref = { uid: claim.metadata.uid, namespace: "default", name: "one" };
  const call = async (pod: string, what: "nodePrepareResources" | "nodeUnprepareResources") => {
    const channel = unixChannel(dra(pod));
    const answer = await channel.caller(DRAPluginDefinition)[what]({ claims: [ref] }, { timeout: 5000 });
    channel.close();
    return answer.claims[ref.uid]?.error;
  };
  assert.equal(await call("old-pod", "nodePrepareResources"), "");
  await node.start(lamps, { podUID: "new-pod" });
  await eventually("the second is up", () => existsSync(registration("new-pod")));
  await old.stop();
  assert.equal(existsSync(registration("old-pod")), false);
  assert.equal((await getInfo(registration("new-pod"))).endpoint, dra("new-pod"));
  assert.equal(await call("new-pod", "nodeUnprepareResources"), "");
  assert.deepEqual(readdirSync(node.paths.cdi), []);
});

test("a pod UID that makes the path too long is hashed; folders that are too long are an error", async () => {
  const deep = join(node.root, "d".repeat(70 - node.root.length));
  const podUID = "c4dadf20-392a-474d-a47b-ab82080c8bd7";
  await node.start(lamps, { podUID, registrarDirectory: deep });
  const [name] = await eventually(
    "a socket",
    () => existsSync(deep) && readdirSync(deep).length > 0 && readdirSync(deep),
  );
  assert.match(name!, /^lamp\.example\.com-[0-9a-f]{8}-reg\.sock$/);
  await assert.rejects(
    node.start(lamps, { registrarDirectory: join(node.root, "d".repeat(100)) }),
    /at most 107/,
  );
});

test("health: the whole list at once and at each change", async () => {
  let change = (_: readonly DeviceHealth[]) => {};
  const well = { pool: "node-a", device: "lamp-0", health: "Healthy" } as const;
  const driver = {
    ...lamps,
    async *health(signal: AbortSignal) {
      yield [well];
      while (!signal.aborted)
        yield await new Promise<readonly DeviceHealth[]>((resolve) => {
          change = resolve;
        });
    },
  };
  await node.start(driver);
  assert.deepEqual((await getInfo(node.paths.registration)).supportedVersions, [
    "v1.DRAPlugin",
    "v1beta1.DRAPlugin",
    "v1.DRAResourceHealth",
    "v1alpha1.DRAResourceHealth",
  ]);
  const channel = unixChannel(node.paths.dra);
  const seen: unknown[] = [];
  for await (const { devices } of channel.caller(DRAResourceHealthDefinition).nodeWatchResources({})) {
    seen.push(devices.map(({ device, health, message }) => [device?.deviceName, health, message]));
    if (seen.length === 2) break;
    change([{ ...well, health: "Unhealthy", message: "m".repeat(2000) }]);
  }
  assert.deepEqual(seen, [[["lamp-0", 1, ""]], [["lamp-0", 2, "m".repeat(1024)]]]);
  channel.close();
});

test("health of a wrong shape is logged with path and value, and ends the stream", async () => {
  const yields: unknown[] = [
    "well",
    [{ pool: "node-a" }],
    [{ pool: "node-a", device: "lamp-0", health: "ok" }],
  ];
  const messages = [
    'health(): \\"well\\" must be a list of devices',
    "health()[0].device: undefined must be a string that is not empty",
    'health()[0].health: \\"ok\\" must be Healthy, Unhealthy or Unknown',
  ];
  const driver = {
    ...lamps,
    async *health() {
      yield yields.shift() as DeviceHealth[];
    },
  };
  await node.start(driver);
  const channel = unixChannel(node.paths.dra);
  for (const message of messages) {
    await assert.rejects(async () => {
      for await (const _ of channel.caller(DRAResourceHealthDefinition).nodeWatchResources({})) break;
    });
    assert.ok(
      node.log.some((line) => line.startsWith("Watching the health") && line.includes(message)),
      `${message}: ${node.log.at(-1)}`,
    );
  }
  channel.close();
});

test("health check over TCP: serving while both sockets answer", async () => {
  const port = 20_000 + (process.pid % 20_000);
  await node.start(lamps, { healthcheck: { host: "127.0.0.1", port } });
  const channel = tcpChannel(`127.0.0.1:${port}`);
  await channel.ready(3000);
  const check = (service: string) => channel.caller(HealthDefinition).check({ service }, { timeout: 6000 });
  assert.deepEqual(await check("liveness"), { status: 1 });
  assert.deepEqual(await check(""), { status: 1 });
  await assert.rejects(check("other"), { code: "NotFound" });
  channel.close();
});

test("a driver whose discovery fails ends, with its error, and takes its sockets along", async () => {
  const started = Promise.withResolvers<void>();
  const one = await node.start({
    ...lamps,
    // biome-ignore lint/correctness/useYield: it fails before there is something to yield.
    async *discover() {
      await started.promise;
      throw new Error("no bus");
    },
  });
  started.resolve();
  await assert.rejects(one.done, /no bus/);
  assert.deepEqual(readdirSync(node.paths.registrar), []);
});

test("of two instances on the same paths the newer stays, the older ends", async () => {
  const old = await node.start(lamps);
  await node.start(lamps);
  await assert.rejects(old.done, /another process has taken over/);
  const serves = () => existsSync(node.paths.registration) && existsSync(node.paths.dra);
  await eventually("the newer serves", serves);
  await holdsFor("the older leaves its sockets alone", serves, 300);
  assert.equal((await getInfo(node.paths.registration)).endpoint, node.paths.dra);
  const claim = node.claim("one", [{}]);
  assert.equal((await node.prepare(claim))[claim.metadata.uid]?.error, "");
});

test("names that Kubernetes would not take are refused before anything is done", async () => {
  for (const name of ["Lamp", "a_b", "", "a".repeat(64)]) {
    const run = runDriver({ ...lamps, name }, { signal: AbortSignal.abort() } as never);
    await assert.rejects(run, /must be a lower-case DNS subdomain of at most 63 characters/);
  }
});
