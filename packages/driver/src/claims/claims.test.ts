import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { StatusError } from "@dray/api";
import { ResourceClaim } from "@dray/api/resource/v1";
import { cdiRegistry } from "@dray/cdi";
import { ConnectionError } from "@dray/client";
import { eventLoopTurns } from "@dray/testing/clock";
import { eventually } from "@dray/testing/eventually";
import type { Driver, PreparedClaim } from "../index.ts";
import { driverName, type Fixture, fixture } from "../testing/internal/fixture.ts";

const kind = `k8s.${driverName}/claim`;

/** A driver that notes what it is asked. */
function recorder(over: Partial<Driver> = {}) {
  const calls: string[] = [];
  const driver: Driver = {
    name: driverName,
    async *discover() {
      yield [{ devices: [{ name: "lamp-0" }, { name: "lamp-1" }] }];
    },
    async prepare(claim) {
      calls.push(`prepare ${claim.name}`);
      return claim.devices.map((device) => ({
        device,
        edits: { env: [`LAMP=${device.result.device}`, `CONFIG=${JSON.stringify(device.configs)}`] },
      }));
    },
    async unprepare(claim) {
      calls.push(`unprepare ${claim.name}`);
    },
    ...over,
  };
  return { calls, driver };
}

let node: Fixture;
const nodes: Fixture[] = [];
beforeEach(() => {
  node = fixture();
  nodes.push(node);
});
after(() => Promise.all(nodes.map((one) => one.close())));

const cdi = (names: readonly string[]) => cdiRegistry([node.paths.cdi]).resolve(names);

test("prepare returns CDI devices that resolve; unprepare leaves nothing behind", async () => {
  const { driver, calls } = recorder();
  await node.start(driver);
  const claim = node.claim("one", [
    { device: "lamp-1" },
    { request: "other/large", device: "lamp-0", shareID: "s1" },
  ]);
  const { uid } = claim.metadata;
  const answer = await node.prepare(claim);
  assert.deepEqual(answer, {
    [uid]: {
      error: "",
      devices: [
        {
          requestNames: ["lamp"],
          poolName: "node-a",
          deviceName: "lamp-1",
          cdiDeviceIds: [`${kind}=${uid}-lamp-1`],
          shareId: undefined,
        },
        {
          requestNames: ["other"],
          poolName: "node-a",
          deviceName: "lamp-0",
          cdiDeviceIds: [`${kind}=${uid}-lamp-0-s1`],
          shareId: "s1",
        },
      ],
    },
  });
  const edits = await cdi([`${kind}=${uid}-lamp-1`]);
  assert.deepEqual(edits.env, ["LAMP=lamp-1", "CONFIG=[]"]);
  assert.deepEqual(readdirSync(node.paths.cdi), [`k8s.${driverName}-claim_${uid}.json`]);

  assert.deepEqual(await node.unprepare(claim), { [uid]: "" });
  assert.deepEqual(readdirSync(node.paths.cdi), []);
  assert.deepEqual(readdirSync(node.paths.claims), []);
  assert.deepEqual(calls, ["prepare one", "unprepare one"]);
});

test("devices of one name in two pools, and one device of two requests, have CDI devices of their own", async () => {
  const { driver } = recorder({
    prepare: async ({ devices }) =>
      devices.map((device) => ({
        device,
        edits: { env: [`${device.result.request}=${device.result.pool}`] },
      })),
  });
  await node.start(driver);
  const claim = node.claim("one", [{ request: "A" }, { request: "B", pool: "other" }, { request: "C" }]);
  const { uid } = claim.metadata;
  const { error, devices } = (await node.prepare(claim))[uid]!;
  assert.equal(error, "");
  const ids = devices.map(({ cdiDeviceIds }) => cdiDeviceIds);
  assert.deepEqual(
    ids,
    ["", ":2", ":3"].map((suffix) => [`${kind}=${uid}-lamp-0${suffix}`]),
  );
  assert.deepEqual((await cdi(ids.flat())).env, ["A=node-a", "B=other", "C=node-a"]);
});

test("common edits are one more CDI device, named first", async () => {
  const common = { kind: `k8s.${driverName}/lamp`, common: { env: ["COMMON=1"] } };
  await node.start(recorder({ cdi: common }).driver);
  const claim = node.claim("one", [{}]);
  const { uid } = claim.metadata;
  const ids = (await node.prepare(claim))[uid]!.devices[0]!.cdiDeviceIds;
  assert.deepEqual(ids, [`k8s.${driverName}/lamp=common`, `k8s.${driverName}/lamp=${uid}-lamp-0`]);
  assert.deepEqual((await cdi(ids)).env, ["COMMON=1", "LAMP=lamp-0", "CONFIG=[]"]);
});

test("asked again, the same answer without the driver; a lost CDI file comes back (kubelet restart)", async () => {
  const { driver, calls } = recorder();
  const first = await node.start(driver);
  const claim = node.claim("one", [{}]);
  const answer = await node.prepare(claim);
  await first.stop();
  rmSync(node.paths.cdi, { recursive: true });
  await node.start(driver);
  assert.deepEqual(await node.prepare(claim), answer);
  assert.deepEqual(calls, ["prepare one"]);
  await cdi(answer[claim.metadata.uid]!.devices[0]!.cdiDeviceIds);
});

test("after a reboot the driver prepares anew, though the checkpoint says prepared", async () => {
  const { driver, calls } = recorder();
  const first = await node.start(driver);
  const claim = node.claim("one", [{}]);
  const answer = await node.prepare(claim);
  await first.stop();
  rmSync(node.paths.cdi, { recursive: true });
  await node.start(driver, { bootID: "boot-2" });
  assert.deepEqual(await node.prepare(claim), answer);
  assert.deepEqual(calls, ["prepare one", "prepare one"]);
  await cdi(answer[claim.metadata.uid]!.devices[0]!.cdiDeviceIds);
});

test("unprepare of an unknown claim succeeds, twice", async () => {
  const { driver, calls } = recorder();
  await node.start(driver);
  const unknown = { metadata: { uid: "never-seen", namespace: "default", name: "x" } };
  assert.deepEqual(await node.unprepare(unknown), { "never-seen": "" });
  assert.deepEqual(await node.unprepare(unknown), { "never-seen": "" });
  assert.deepEqual(calls, []);
});

test("claims that must not be prepared: missing, created anew, not allocated", async () => {
  const { driver, calls } = recorder();
  await node.start(driver);
  const missing = { ...node.claim("missing", [{}]) };
  node.api.remove(ResourceClaim, missing.metadata);
  const anew = node.claim("anew", [{}]);
  const pending = node.claim("pending", [{}]);
  node.api.put(ResourceClaim, { metadata: { namespace: "default", name: "pending" }, spec: {} });
  const old = { ...anew, metadata: { ...anew.metadata, uid: "old-uid" } };
  const answer = await node.prepare(missing, old, pending);
  const error = (uid: string) => answer[uid]?.error.replace(`error preparing devices for claim ${uid}: `, "");
  assert.equal(error(missing.metadata.uid), 'resourceclaims "missing" not found');
  assert.equal(
    error("old-uid"),
    `claim default/anew has UID ${anew.metadata.uid}, not old-uid: it was deleted and created anew`,
  );
  assert.equal(error(pending.metadata.uid), "claim default/pending is not allocated");
  assert.deepEqual(calls, []);
  assert.equal(existsSync(node.paths.claims), false);
});

test("an API server that is away for a moment is waited for within the call", async () => {
  const { driver } = recorder();
  await node.start(driver);
  const claim = node.claim("one", [{}]);
  const failures = [
    new ConnectionError("refused"),
    StatusError.of("ServiceUnavailable", "starting"),
    StatusError.of("TooManyRequests", "later"),
  ];
  node.api.beforeGet = () => {
    const error = failures.shift();
    if (error !== undefined) throw error;
  };
  assert.equal((await node.prepare(claim))[claim.metadata.uid]!.error, "");
  assert.equal(failures.length, 0);
  node.api.beforeGet = () => {
    throw StatusError.of("Forbidden", "not for you");
  };
  assert.match((await node.prepare(claim))[claim.metadata.uid]!.error, /not for you$/);
});

test("a device that is prepared for another claim is refused, but for admin access and shares", async () => {
  const { driver } = recorder();
  await node.start(driver);
  const first = node.claim("first", [{}]);
  const second = node.claim("second", [{}]);
  const admin = node.claim("admin", [{ adminAccess: true }]);
  const shares = [
    node.claim("share-1", [{ device: "lamp-1", shareID: "1" }]),
    node.claim("share-2", [{ device: "lamp-1", shareID: "2" }]),
  ];
  const answer = await node.prepare(first, second, admin, ...shares);
  assert.deepEqual(
    [first, second, admin, ...shares].map(({ metadata: { uid } }) => answer[uid]!.error),
    [
      "",
      `error preparing devices for claim ${second.metadata.uid}: device node-a/lamp-0 is still prepared for claim default/first (UID ${first.metadata.uid})`,
      "",
      "",
      "",
    ],
  );
  await node.unprepare(first);
  assert.equal((await node.prepare(second))[second.metadata.uid]!.error, "");
});

test("configuration: this driver's, for the request, the class's before the claim's", async () => {
  const { driver } = recorder();
  await node.start(driver);
  const config = (source: string, value: string, requests: string[] = [], name = driverName) => ({
    source,
    requests,
    opaque: { driver: name, parameters: { value } },
  });
  const claim = node.claim(
    "one",
    [
      { request: "a", device: "lamp-0" },
      { request: "b/big", device: "lamp-1" },
    ],
    {
      config: [
        config("FromClaim", "claim, a", ["a"]),
        config("FromClaim", "claim, b", ["b"]),
        config("FromClaim", "claim, other half of b", ["b/small"]),
        config("FromClass", "class, b/big", ["b/big"]),
        config("FromClass", "class, all"),
        config("FromClass", "of another driver", [], "other.example.com"),
      ],
    },
  );
  const { uid } = claim.metadata;
  await node.prepare(claim);
  const valuesOf = async (device: string) => {
    const { env } = await cdi([`${kind}=${uid}-${device}`]);
    const text = env.find((one) => one.startsWith("CONFIG="))!.slice("CONFIG=".length);
    return (JSON.parse(text) as { parameters: { value: string } }[]).map((one) => one.parameters.value);
  };
  assert.deepEqual(await valuesOf("lamp-0"), ["class, all", "claim, a"]);
  assert.deepEqual(await valuesOf("lamp-1"), ["class, b/big", "class, all", "claim, b"]);
});

test("a failed prepare is reported and retried, and can be unprepared", async () => {
  let fail = true;
  const undone: PreparedClaim[] = [];
  const { driver } = recorder({
    async prepare(claim) {
      if (fail) throw new Error("the lamp is hot");
      return claim.devices.map((device) => ({ device, edits: {} }));
    },
    async unprepare(claim) {
      undone.push(claim);
    },
  });
  await node.start(driver);
  const claim = node.claim("one", [{}]);
  const { uid } = claim.metadata;
  assert.equal(
    (await node.prepare(claim))[uid]!.error,
    `error preparing devices for claim ${uid}: the lamp is hot`,
  );
  // Undone even though the claim is gone: the names are on disk.
  node.api.remove(ResourceClaim, claim.metadata);
  assert.deepEqual(await node.unprepare(claim), { [uid]: "" });
  assert.equal(undone[0]?.devices[0]?.result.device, "lamp-0");

  fail = false;
  const again = node.claim("two", [{}]);
  const answer = (await node.prepare(again))[again.metadata.uid]!;
  assert.deepEqual(answer.devices[0]!.cdiDeviceIds, [], "no edits: no CDI device");
});

test("any thrown value of a driver is reported, shortened", async () => {
  const thrown: unknown[] = ["no light", new Error("x".repeat(5_000_000))];
  const { driver } = recorder({
    async prepare() {
      throw thrown.shift();
    },
  });
  await node.start(driver);
  const claim = node.claim("one", [{}]);
  const { uid } = claim.metadata;
  const ask = async () => (await node.prepare(claim))[uid]!.error;
  assert.equal(await ask(), `error preparing devices for claim ${uid}: no light`);
  assert.equal(await ask(), `error preparing devices for claim ${uid}: ${"x".repeat(4096)}...`);
});

test("a device without an answer of the driver is an error, not a container without its device", async () => {
  const { driver } = recorder({ prepare: async () => [] });
  await node.start(driver);
  const claim = node.claim("one", [{}]);
  const { uid } = claim.metadata;
  assert.match(
    (await node.prepare(claim))[uid]!.error,
    /did not prepare device node-a\/lamp-0 of request lamp$/,
  );
});

test("claims are prepared one at a time", async () => {
  let inside = 0;
  let most = 0;
  const { driver } = recorder({
    async prepare(claim) {
      most = Math.max(most, ++inside);
      await eventLoopTurns();
      inside--;
      return claim.devices.map((device) => ({ device, edits: {} }));
    },
  });
  await node.start(driver);
  await Promise.all([
    node.prepare(node.claim("a", [{}]), node.claim("b", [{ device: "lamp-1" }])),
    node.prepare(node.claim("c", [{ device: "lamp-2" }])),
  ]);
  assert.equal(most, 1);
});

test("a claim that was allocated anew without an unprepare between is undone first", async () => {
  const { driver, calls } = recorder();
  await node.start(driver);
  const claim = node.claim("one", [{}]);
  await node.prepare(claim);
  const moved = node.claim("one", [{ device: "lamp-1" }]);
  assert.equal(moved.metadata.uid, claim.metadata.uid);
  const answer = await node.prepare(moved);
  assert.equal(answer[claim.metadata.uid]!.devices[0]!.deviceName, "lamp-1");
  assert.deepEqual(calls, ["prepare one", "unprepare one", "prepare one"]);
});

test("the checkpoint names the claim and its devices before the driver is called", async () => {
  let seen: { state?: string; namespace?: string; devices?: unknown[] } = {};
  const { driver } = recorder({
    async prepare(claim) {
      seen = JSON.parse(readFileSync(join(node.paths.claims, `${claim.uid}.json`), "utf8"));
      return claim.devices.map((device) => ({ device, edits: {} }));
    },
  });
  await node.start(driver);
  await node.prepare(node.claim("one", [{}]));
  assert.equal(seen.state, "Started");
  assert.equal(seen.namespace, "default");
  assert.equal(seen.devices?.length, 1);
});

test("a claim that vanished is unprepared at the second look, not at the first", async () => {
  const { driver, calls } = recorder();
  const timers: (() => void)[] = [];
  const clock = {
    now: () => Date.now(),
    after(milliseconds: number, run: () => void) {
      if (milliseconds >= 60_000) timers.push(run);
      return () => {};
    },
  };
  await node.start(driver, { clock });
  const [kept, gone] = [node.claim("kept", [{}]), node.claim("gone", [{ device: "lamp-1" }])];
  await node.prepare(kept, gone);
  node.api.remove(ResourceClaim, gone.metadata);
  const look = async () => {
    await eventually("the next look", () => timers.length > 0);
    timers.shift()!();
    await eventually("the next look", () => timers.length > 0);
  };
  await look();
  assert.deepEqual(calls, ["prepare kept", "prepare gone"]);
  await look();
  assert.deepEqual(calls, ["prepare kept", "prepare gone", "unprepare gone"]);
  assert.deepEqual(readdirSync(node.paths.claims), [`${kept.metadata.uid}.json`]);
  // Or the driver would wait for it, and the time does not move here.
  await node.unprepare(kept);
});
