import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { unixChannel } from "@dray/rpc";
import { DRAPluginDefinition } from "@dray/rpc/dra/v1";
import { eventually, holdsFor } from "@dray/testing/eventually";
import type { Driver } from "../index.ts";
import { driverName, type Fixture, fixture } from "../testing/internal/fixture.ts";
import { lamps } from "../testing/internal/smallest.ts";

let node: Fixture;
const nodes: Fixture[] = [];
beforeEach(() => {
  node = fixture();
  nodes.push(node);
});
after(() => Promise.all(nodes.map((one) => one.close())));

const lockPath = () => join(node.paths.plugins, driverName, "serialize.lock");

/** A driver whose prepare lasts until the test lets it go on. */
function slow() {
  let inside = 0;
  const seen = { most: 0, names: [] as string[] };
  const waiting: (() => void)[] = [];
  const driver: Driver = {
    ...lamps,
    async prepare(claim) {
      seen.most = Math.max(seen.most, ++inside);
      seen.names.push(claim.name);
      await new Promise<void>((resolve) => waiting.push(resolve));
      inside--;
      return claim.devices.map((device) => ({ device, edits: {} }));
    },
  };
  return { driver, seen, waiting, goOn: () => waiting.shift()?.() };
}

async function startInstance(driver: Driver, podUID: string) {
  await node.start(driver, { podUID });
  const path = join(node.paths.plugins, driverName, `dra-${podUID}.sock`);
  await eventually(`${podUID} is up`, () =>
    existsSync(join(node.paths.registrar, `${driverName}-${podUID}-reg.sock`)),
  );
  return async (name: string, device: string): Promise<string | undefined> => {
    const { uid } = node.claim(name, [{ device }]).metadata;
    const channel = unixChannel(path);
    try {
      const answer = await channel
        .caller(DRAPluginDefinition)
        .nodePrepareResources({ claims: [{ uid, namespace: "default", name }] }, { timeout: 20_000 });
      return answer.claims[uid]?.error;
    } finally {
      channel.close();
    }
  };
}

test("two instances of a driver prepare one claim at a time between them", async () => {
  const { driver, seen, waiting, goOn } = slow();
  const first = await startInstance(driver, "first");
  const second = await startInstance(driver, "second");
  const answers = [first("a", "lamp-0"), second("b", "lamp-1")];
  await eventually("one is inside", () => waiting.length === 1);
  await holdsFor("the other waits", () => waiting.length === 1, 150);
  goOn();
  await eventually("then the other", () => waiting.length === 1 && seen.names.length === 2);
  goOn();
  assert.deepEqual(await Promise.all(answers), ["", ""]);
  assert.equal(seen.most, 1);
});

test("two instances give one device to one claim only", async () => {
  const { driver, waiting, goOn } = slow();
  const first = await startInstance(driver, "first");
  const second = await startInstance(driver, "second");
  const answers = [first("a", "lamp-0"), second("b", "lamp-0")];
  await eventually("one is inside", () => waiting.length === 1);
  goOn();
  const [one, other] = (await Promise.all(answers)).sort();
  assert.equal(one, "");
  assert.match(other!, /device node-a\/lamp-0 is still prepared for claim default\//);
});

/** A process that holds the lock for as long as it lives, as another driver would. */
async function holdLock() {
  const program = `
    const fd = require("node:fs").openSync(process.argv[1], "a");
    const child = require("node:child_process").spawn("flock", ["-x", "3"], { stdio: ["ignore", "ignore", "inherit", fd] });
    child.on("exit", (code) => { console.log(code); process.stdin.resume(); });`;
  const holder = spawn(process.execPath, ["-e", program, lockPath()], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(holder, "exit");
  assert.equal(String((await once(holder.stdout, "data"))[0]).trim(), "0");
  return async () => {
    holder.kill("SIGKILL");
    await ended;
  };
}

/** Reports whether somebody holds the lock. */
async function isLocked(): Promise<boolean> {
  const program = spawn("flock", ["-n", lockPath(), "true"], { stdio: "ignore" });
  return (await once(program, "exit"))[0] === 1;
}

test("the lock is flock(2), as the Go helper's: prepare waits for its holder, and a kill releases it", async () => {
  const prepare = await startInstance(lamps, "pod");
  const release = await holdLock();
  try {
    let answered = false;
    const answer = prepare("one", "lamp-0").then((error) => {
      answered = true;
      return error;
    });
    await holdsFor("it is not answered", () => !answered, 300);
    assert.deepEqual(existsSync(node.paths.claims) ? readdirSync(node.paths.claims) : [], []);
    await release();
    assert.equal(await answer, "");
    await eventually("it is released", async () => !(await isLocked()));
  } finally {
    await release();
  }
});

test("a lock file that is deleted is made anew: the others see that one", async () => {
  const { driver, waiting, goOn } = slow();
  const first = await startInstance(driver, "first");
  const second = await startInstance(driver, "second");
  rmSync(lockPath());
  const answers = [first("a", "lamp-0"), second("b", "lamp-1")];
  await eventually("one is inside", () => waiting.length === 1);
  assert.equal(await isLocked(), true);
  await holdsFor("the other waits", () => waiting.length === 1, 150);
  goOn();
  await eventually("then the other", () => waiting.length === 1);
  goOn();
  assert.deepEqual(await Promise.all(answers), ["", ""]);
});

test("a driver that ends in the middle of a call keeps the lock until the call is over", async () => {
  const { driver, waiting, goOn } = slow();
  const running = await node.start(driver, { podUID: "pod" });
  const path = join(node.paths.plugins, driverName, "dra-pod.sock");
  await eventually("it serves", () => existsSync(path));
  const { uid } = node.claim("one", [{}]).metadata;
  const channel = unixChannel(path);
  const answer = channel
    .caller(DRAPluginDefinition)
    .nodePrepareResources({ claims: [{ uid, namespace: "default", name: "one" }] }, { timeout: 2000 })
    .catch((error: Error) => error);
  await eventually("it is inside", () => waiting.length === 1);
  await running.stop();
  await answer;
  channel.close();
  assert.equal(await isLocked(), true);
  goOn();
  await eventually("it is released", async () => !(await isLocked()));
});

test("a driver that ends while it waits for the lock fails the waiting call", async () => {
  const running = await node.start(lamps, { podUID: "pod" });
  const release = await holdLock();
  try {
    const { uid } = node.claim("one", [{}]).metadata;
    const path = join(node.paths.plugins, driverName, "dra-pod.sock");
    await eventually("it serves", () => existsSync(path));
    const channel = unixChannel(path);
    const answer = channel
      .caller(DRAPluginDefinition)
      .nodePrepareResources({ claims: [{ uid, namespace: "default", name: "one" }] }, { timeout: 20_000 })
      .catch((error: Error) => error);
    await eventually("it was asked", () => node.log.some((line) => line.startsWith("PrepareResourceClaims")));
    await running.stop();
    await answer;
    channel.close();
    await release();
    assert.equal(await isLocked(), false);
  } finally {
    await release();
  }
});

test("without the program flock rolling updates are refused; a driver without them does not need it", async () => {
  const path = process.env["PATH"];
  process.env["PATH"] = node.root;
  symlinkSync("/bin/sh", join(node.root, "sh"));
  try {
    await assert.rejects(
      node.start(lamps, { podUID: "pod" }).then(({ done }) => done),
      /cannot lock .*serialize\.lock: the program flock is missing; install util-linux or busybox/,
    );
    await node.start(lamps);
  } finally {
    process.env["PATH"] = path;
  }
  const claim = node.claim("one", [{}]);
  assert.equal((await node.prepare(claim))[claim.metadata.uid]?.error, "");
  assert.equal(readdirSync(join(node.paths.plugins, driverName)).includes("claims"), true);
});

test("serialize: false prepares claims side by side, but still gives a device to one only", async () => {
  const { driver, seen, waiting, goOn } = slow();
  await node.start(driver, { serialize: false });
  const claims = ["lamp-0", "lamp-1", "lamp-0"].map((device, i) => node.claim(`c${i}`, [{ device }]));
  const answers = claims.map((claim) => node.prepare(claim));
  await eventually("two are inside", () => waiting.length === 2);
  await holdsFor("the third waits", () => seen.most === 2, 100);
  goOn();
  goOn();
  const errors = (await Promise.all(answers)).map((answer) => Object.values(answer)[0]!.error);
  assert.equal(errors.filter((error) => error === "").length, 2);
  assert.equal(errors.filter((error) => /lamp-0 is still prepared for/.test(error)).length, 1);
});

test("serialize: false still makes one call at a time for one claim", async () => {
  const { driver, seen, waiting, goOn } = slow();
  await node.start(driver, { serialize: false });
  const claim = node.claim("one", [{}]);
  const answers = [node.prepare(claim), node.prepare(claim)];
  await eventually("one is inside", () => waiting.length === 1);
  await holdsFor("the other waits", () => waiting.length === 1, 100);
  goOn();
  await Promise.all(answers);
  assert.deepEqual([seen.most, seen.names], [1, ["one"]], "the second is answered from the checkpoint");
});

test("a slow read of one claim does not delay others, and an unprepare aborts it", async () => {
  const calls: string[] = [];
  await node.start({
    ...lamps,
    async prepare(claim) {
      calls.push(`prepare ${claim.name}`);
      return claim.devices.map((device) => ({ device, edits: {} }));
    },
    async unprepare(claim) {
      calls.push(`unprepare ${claim.name}`);
    },
  });
  const [held, quick] = [node.claim("held", [{}]), node.claim("quick", [{ device: "lamp-1" }])];
  let asked = false;
  node.api.delayGet = (ref) => {
    if (ref.name !== "held") return undefined;
    asked = true;
    return new Promise(() => {});
  };
  const answer = node.prepare(held);
  await eventually("the claim is being fetched", () => asked);
  assert.equal((await node.prepare(quick))[quick.metadata.uid]!.error, "");
  assert.deepEqual(await node.unprepare(quick), { [quick.metadata.uid]: "" });
  assert.deepEqual(await node.unprepare(held), { [held.metadata.uid]: "" });
  assert.match((await answer)[held.metadata.uid]!.error, /the claim is to be unprepared$/);
  assert.deepEqual(calls, ["prepare quick", "unprepare quick"]);
  assert.deepEqual(readdirSync(node.paths.claims), []);
});
