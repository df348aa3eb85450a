import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ResourceSlice } from "@dray/api/resource/v1";
import { silentLog, systemClock } from "@dray/client";
import { Container, type ContainerUpdate, PodSandbox } from "@dray/rpc/nri/v1alpha1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { testCluster } from "../testing/cluster.ts";
import { NriServer } from "./server.ts";

const folder = process.env["DRAY_TEST_DRA_DRIVER_CPU"] ?? join(homedir(), ".cache/dray-peers-1.36/bin");
const program = join(folder, "dracpu");

/** Why the driver cannot run here; undefined if it can. */
const without = ((): string | undefined => {
  if (!existsSync(program)) return "dra-driver-cpu: missing (cmd/dracpu of v0.2.0)";
  if (process.getuid?.() !== 0 || spawnSync("unshare", ["--mount", "true"]).status !== 0)
    return "dra-driver-cpu: needs root and mount name spaces";
  return undefined;
})();

test("dra-driver-cpu, unmodified, registers and pins containers to CPUs", {
  skip: without ?? false,
}, async (t) => {
  const cluster = await testCluster();
  await cluster.node("node-1");
  const root = cluster.rootDir("node-1");
  const updates: ContainerUpdate[] = [];
  const pod = (id: string) =>
    PodSandbox.fromPartial({
      id: `sandbox-${id}`,
      uid: `uid-${id}`,
      name: `pod-${id}`,
      namespace: "default",
    });
  const container = (id: string, env: readonly string[]) =>
    Container.fromPartial({ id, podSandboxId: `sandbox-${id}`, name: "main", env: [...env] });
  const server = new NriServer({
    socketPath: join(root, "run/nri/nri.sock"),
    runtimeName: "dray",
    runtimeVersion: "0.1.0",
    clock: systemClock,
    log: silentLog,
    state: async () => ({ pods: [pod("old")], containers: [container("old", [])] }),
    updateContainers: async (all) => {
      updates.push(...all);
      return [];
    },
  });
  await server.start();

  const kubeconfig = join(root, "kubeconfig");
  writeFileSync(kubeconfig, await cluster.listen(), { mode: 0o600 });
  // Bind-mounts the node's paths at the driver's; mounts of the driver end with it.
  const script = `set -e
    mount -t tmpfs tmpfs /var/lib; mkdir /var/lib/kubelet; mount --bind "$1/var/lib/kubelet" /var/lib/kubelet
    mount --bind "$1/run" /run
    shift; exec "$@"`;
  const options = [
    "--kubeconfig",
    kubeconfig,
    "--hostname-override",
    "node-1",
    "--bind-address",
    "127.0.0.1:0",
    "-v",
    "4",
  ];
  const child = spawn("unshare", ["--mount", "sh", "-c", script, "sh", root, program, ...options], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const output of [child.stdout, child.stderr]) {
    output.on("data", (chunk: Buffer) => {
      log += chunk;
    });
  }
  const ended = once(child, "exit");
  t.after(async () => {
    child.kill("SIGINT");
    const killed = setTimeout(() => child.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(killed);
    await server.close();
    await cluster.close();
  });
  await eventuallyPasses(async () => {
    if (child.exitCode !== null) throw new Error(`the driver ended: ${log.slice(-4000)}`);
    assert.deepEqual(server.plugins, ["00-dra.cpu"], log.slice(-1000));
  });
  assert.match(log, /begin: synchronize state with the runtime.*numPods=1 numContainers=1/);
  // It assigns all CPUs to containers with shared ones.
  const all = readFileSync("/sys/devices/system/cpu/online", "utf8").trim();
  const cpusOf = (list: readonly ContainerUpdate[]) =>
    list.map(({ containerId, linux }) => [containerId, linux?.resources?.cpu?.cpus]);
  await eventuallyPasses(async () => assert.deepEqual(cpusOf(updates), [["old", all]]));
  await eventuallyPasses(async () => {
    const { items } = await cluster.admin.resource(ResourceSlice).list();
    assert.deepEqual(
      items.map(({ spec }) => [spec.driver, spec.nodeName]),
      [["dra.cpu", "node-1"]],
    );
  });

  await server.runPodSandbox(pod("a"));
  const claimed = await server.createContainer(pod("a"), container("a", ["DRA_CPUSET_claim-1=0"]));
  assert.equal(claimed.adjust.linux?.resources?.cpu?.cpus, "0");
  assert.deepEqual(
    claimed.update.map(({ containerId }) => containerId),
    ["old"],
  );
  await server.startContainer(pod("a"), container("a", []));
  await server.runPodSandbox(pod("b"));
  const shared = await server.createContainer(pod("b"), container("b", []));
  assert.equal(shared.adjust.linux?.resources?.cpu?.cpus, all);
  await server.stopContainer(pod("a"), container("a", ["DRA_CPUSET_claim-1=0"]));
  await server.removeContainer(pod("a"), container("a", []));
  assert.deepEqual(server.plugins, ["00-dra.cpu"]);
  assert.equal(child.exitCode, null);
});
