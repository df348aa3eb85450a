import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Lease } from "@dray/api/coordination/v1";
import { Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { type Clock, silentLog, systemClock } from "@dray/client";
import { eventuallyPasses } from "@dray/testing/eventually";
import { type NodeState, superviseNode } from "../index.ts";
import { podBecomes, podOn, testCluster } from "../testing/cluster.ts";

test("a node that cannot start has the reason in its state and its Node, and is restarted", async (t) => {
  const cluster = await testCluster();
  t.after(() => cluster.close());
  const { admin } = cluster;
  const checkpoint = join(cluster.rootDir("bad"), "var/lib/kubelet/dra_manager_state");
  mkdirSync(dirname(checkpoint), { recursive: true });
  writeFileSync(checkpoint, '{"Data":"{}","Checksum":1}');
  const states: NodeState[] = [];
  const start = (node: string) =>
    superviseNode(node, () => cluster.nodeOptions(node), {
      clock: systemClock,
      log: silentLog,
      changed: (state) => void (node === "bad" && states.push(state)),
    });
  const nodes = [start("good"), start("bad")];
  t.after(() => Promise.all(nodes.map((one) => one.stop({ leavePods: false }))));
  await Promise.all(nodes.map(({ settled }) => settled));
  assert.equal(nodes[0]?.state.state, "running");
  const failed = nodes[1]?.state;
  assert.equal(failed?.state, "failed");
  assert.match(failed?.reason ?? "", /bad\/var\/lib\/kubelet\/dra_manager_state is damaged/);
  assert.ok(Date.parse(failed?.nextStart ?? "") > Date.parse(failed?.since ?? ""));
  const ready = async (name: string) =>
    (await admin.resource(Node).get({ name })).status?.conditions?.find(({ type }) => type === "Ready");
  await eventuallyPasses(async () => {
    const condition = await ready("bad");
    assert.deepEqual([condition?.status, condition?.reason], ["False", "KubeletNotReady"]);
    assert.equal(condition?.message, failed?.reason);
    assert.ok(
      (await admin.resource(Lease).get({ namespace: "kube-node-lease", name: "bad" })).spec.renewTime,
    );
  });
  rmSync(checkpoint);
  await eventuallyPasses(async () => {
    assert.equal((await ready("bad"))?.status, "True");
    assert.equal(nodes[1]?.state.state, "running");
  });
  assert.equal((await ready("good"))?.status, "True");
  assert.equal(nodes[0]?.state.restarts, 0);
  assert.ok(states.every(({ since }) => !Number.isNaN(Date.parse(since))));
  assert.deepEqual([...new Set(states.map(({ state }) => state))], ["starting", "failed", "running"]);
});

test("an agent that fails again and again is started ever more rarely, and forgiven once it has run", async (t) => {
  const cluster = await testCluster();
  t.after(() => cluster.close());
  const delays: number[] = [];
  let forgive = (): void => {};
  const clock: Clock = {
    now: systemClock.now,
    after(milliseconds, run) {
      if (milliseconds === 120_000) forgive = run;
      else delays.push(milliseconds);
      return systemClock.after(milliseconds === 120_000 ? milliseconds : 0, run);
    },
  };
  let failures = 0;
  const node = superviseNode(
    "n1",
    async () => {
      if (failures++ < 8) throw new Error("no".repeat(10_000));
      return cluster.nodeOptions("n1");
    },
    { clock, log: silentLog, changed: () => {} },
  );
  await eventuallyPasses(async () => assert.equal(node.state.state, "running"));
  assert.deepEqual(delays, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  assert.equal(node.state.restarts, 8);
  assert.match(node.state.reason ?? "", /^no.{900,}\(20000 characters, shortened\)$/);
  forgive();
  assert.equal(node.state.reason, undefined);
  await node.stop({ leavePods: false });
  assert.equal(node.state.state, "stopped");
});

test("an agent that is stopped while it starts, or waits to be started again, ends", async () => {
  const waiting = superviseNode("n1", () => Promise.reject(new Error("no")), {
    clock: { now: () => 0, after: () => () => {} },
    log: silentLog,
    changed: () => {},
  });
  await waiting.settled;
  await waiting.stop({ leavePods: true });
  assert.equal(waiting.state.state, "stopped");

  const cluster = await testCluster();
  for (const wait of [true, false]) {
    const options = await cluster.nodeOptions("n1");
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<never>();
    const text = (): Promise<never> => {
      asked.resolve();
      return answer.promise;
    };
    // An API server that accepts the request and does not answer.
    const client = { ...options.client, text, close: () => answer.reject(new Error("closed")) };
    answer.promise.catch(() => {});
    const hanging = superviseNode("n1", async () => ({ ...options, client }), {
      clock: systemClock,
      log: silentLog,
      changed: () => {},
    });
    if (wait) await asked.promise;
    await hanging.stop({ leavePods: true });
    assert.equal(hanging.state.state, "stopped");
  }
  await cluster.close();
});

test("an uncaught error in one node's code restarts that node alone", async () => {
  const script = fileURLToPath(new URL("../testing/supervised.ts", import.meta.url));
  const args = process.execArgv.filter((arg) => !arg.startsWith("--test"));
  const child = spawn(process.execPath, [...args, script], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(code, 0);
  const lines = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const restarts = { good: 0, timer: 1, promise: 1, emitter: 1, socket: 1 };
  assert.deepEqual(
    lines.find((line) => "good" in line),
    restarts,
  );
  const reasons = Object.fromEntries(
    lines.filter(({ state }) => state === "failed").map(({ node, reason }) => [node, reason]),
  );
  assert.deepEqual(reasons, {
    timer: "bad",
    promise: "bad",
    emitter: "bad",
    socket: "connect ENOENT /nowhere/socket",
  });
});

test("pods outlive the restart of their agent in one process", async (t) => {
  const cluster = await testCluster();
  t.after(() => cluster.close());
  const { admin } = cluster;
  await admin.resource(ServiceAccount).create({ metadata: { namespace: "default", name: "default" } });
  const first = await cluster.node("n1");
  const command = ["bash", "-c", 'trap "" TERM; while true; do sleep 1; done'];
  await admin
    .resource(Pod)
    .create(podOn("n1", "stays", { containers: [{ name: "main", command: ["sleep", "1000"] }] }));
  await admin.resource(Pod).create(podOn("n1", "goes", { containers: [{ name: "main", command }] }));
  const running = (name: string) =>
    podBecomes(admin, { namespace: "default", name }, ({ status }) => status?.phase === "Running");
  const before = await running("stays");
  await running("goes");
  // Its stop is under way while the agent ends.
  await admin.resource(Pod).delete({ namespace: "default", name: "goes" }, { gracePeriodSeconds: 2 });
  await new Promise((resolve) => setTimeout(resolve, 200));
  await first.stop({ leavePods: true });
  await cluster.node("n1");
  await eventuallyPasses(async () => {
    const { items } = await admin.resource(Pod).list({ namespace: "default" });
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ["stays"],
    );
  });
  const after = await running("stays");
  assert.equal(
    after.status?.containerStatuses?.[0]?.containerID,
    before.status?.containerStatuses?.[0]?.containerID,
  );
});
