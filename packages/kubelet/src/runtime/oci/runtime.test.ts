import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cdiRegistry } from "@dray/cdi";
import { eventuallyPasses } from "@dray/testing/eventually";
import { collect, textOf } from "../../testing/runtime-contract/pod.ts";
import type { ContainerConfig } from "../config.ts";
import type { Container } from "../service.ts";
import { plainSecurity } from "./testing/runtime.ts";
import { ended, options, output, sandboxOf, started, startRuntime, status, suite } from "./testing/suite.ts";

startRuntime();

test("a container runs its program in an image, and its end is reported", options, async () => {
  const sandbox = await sandboxOf({ hostname: "web-0" });
  const changes: string[] = [];
  const [{ config: { uid } = { uid: "" } } = {}] = (await suite.runtime.listPodSandboxes()).filter(
    ({ id }) => id === sandbox,
  );
  suite.runtime.onChange((changed) => changes.push(changed));
  const { id, config } = await started(
    sandbox,
    "hostname; pwd; echo $IMAGE $EXTRA; cat /etc/hostname; echo err >&2; exit 3",
    {
      env: [["EXTRA", "with 'quotes' $and\nlines"]],
      workingDir: "/made/here",
    },
  );
  const over = await ended(id);
  assert.equal(over.exitCode, 3);
  assert.equal(over.reason, "Error");
  assert.ok(over.startedAt! >= over.createdAt && over.finishedAt! >= over.startedAt!);
  const log = readFileSync(config.logPath, "utf8");
  assert.equal(log.replace("err\n", ""), "web-0\n/made/here\nbusybox with 'quotes' $and lines\nweb-0\n");
  assert.match(log, /^err$/m);
  assert.ok(changes.includes(uid));
  assert.equal(textOf(await collect(suite.runtime.readLog(config.logPath))), log);
  assert.deepEqual(
    (await suite.runtime.listContainers(uid)).map((one) => one.id),
    [id],
  );
  assert.deepEqual(await suite.runtime.listContainers("other"), []);
  await suite.runtime.removePodSandbox(sandbox);
  await suite.runtime.removePodSandbox(sandbox);
  assert.deepEqual(await suite.runtime.listContainers(uid), []);
});

test("a container that cannot be created or started fails with the reason", options, async () => {
  const sandbox = await sandboxOf();
  const create = (values: Partial<ContainerConfig>, script = "true"): Promise<unknown> =>
    suite.runtime.createContainer(sandbox, suite.runtimes.container("main", script, values));
  await assert.rejects(create({ imageRef: "docker.io/library/none:1" }), {
    reason: "CreateContainerError",
    message: /not on this node/,
  });
  await assert.rejects(create({ cdiDevices: ["a.b/c=d"] }), {
    reason: "CreateContainerError",
    message: /unresolvable CDI devices a.b\/c=d/,
  });
  await assert.rejects(
    create({ security: { ...plainSecurity, runAsUserName: "nobody" } }),
    /no user "nobody"/,
  );
  await assert.rejects(
    create({ security: { ...plainSecurity, seccomp: "localhost//none.json" } }),
    /seccomp profile "\/none.json".*ENOENT/,
  );
  await assert.rejects(
    create({ devices: [{ hostPath: "/dev/none", containerPath: "/dev/x", permissions: "r" }] }),
    /\/dev\/none/,
  );
  await assert.rejects(create({ env: [["A=B", "c"]] }), /A=B/);
  const config = suite.runtimes.container("main", "", { command: ["/no/such/program"] });
  const { id } = await suite.runtime.createContainer(sandbox, config);
  await assert.rejects(suite.runtime.startContainer(id), {
    reason: "RunContainerError",
    message: /exec: "\/no\/such\/program": stat .*no such file/,
  });
  const failed = await status(id);
  assert.deepEqual([failed.state, failed.reason, failed.exitCode], ["exited", "StartError", 128]);
  assert.equal(readFileSync(config.logPath, "utf8"), "");
  await assert.rejects(suite.runtime.startContainer(id), /started before/);
  await assert.rejects(suite.runtime.startContainer("none"), { reason: "ContainerNotFound" });
  await assert.rejects(
    suite.runtime.runPodSandbox(suite.runtimes.sandbox({ runtimeHandler: "kata" })),
    /"kata"/,
  );
  await assert.rejects(
    suite.runtime.runPodSandbox(suite.runtimes.sandbox({ sysctls: { "kernel.panic": "1" } })),
    /"kernel.panic" does not belong/,
  );
  await assert.rejects(
    suite.runtime.runPodSandbox(suite.runtimes.sandbox({ sysctls: { "net/../kernel/panic": "1" } })),
    /does not belong/,
  );
  await assert.rejects(
    suite.runtime.runPodSandbox(suite.runtimes.sandbox({ sysctls: { "net.none": "1" } })),
    {
      reason: "CreatePodSandboxError",
    },
  );
  await suite.runtime.removePodSandbox(sandbox);
  await assert.rejects(create({}), /does not run/);
});

test("removes a container in which a killed runc has left a mount", options, async () => {
  const sandbox = await sandboxOf();
  const { id } = await started(sandbox, "sleep 1000");
  const folder = join(suite.runtimes.folder, "node/runc", id);
  const left = join(folder, "runc.left");
  writeFileSync(left, "");
  execFileSync("mount", ["--bind", process.execPath, left]);
  await suite.runtime.removeContainer(id);
  assert.ok(!existsSync(folder));
  assert.ok(!(await suite.runtime.listContainers()).some((one) => one.id === id));
  await suite.runtime.removePodSandbox(sandbox);
});

test("containers of a pod share its network, shared memory, processes and sysctls", options, async () => {
  const sandbox = await sandboxOf({
    shareProcessNamespace: true,
    sysctls: { "net.ipv4.ip_local_port_range": "2000 3000", "kernel.shm_rmid_forced": "1" },
    dns: { servers: ["10.0.0.10"], searches: ["a.svc", "svc"], options: ["ndots:5"] },
  });
  const first = await started(
    sandbox,
    "touch /dev/shm/mine; (sleep 1 & ) ; while :; do echo hello | nc -l -p 8080; done",
  );
  const second = await started(
    sandbox,
    "until nc 127.0.0.1 8080; do sleep 0.1; done; ls /dev/shm; cat /proc/sys/net/ipv4/ip_local_port_range /proc/sys/kernel/shm_rmid_forced; ps; cat /etc/resolv.conf",
  );
  await ended(second.id);
  const text = readFileSync(second.config.logPath, "utf8");
  assert.match(text, /^hello\nmine\n2000\t3000\n1\n/m);
  assert.match(text, /while :; do echo hello/);
  assert.match(text, /search a.svc svc\nnameserver 10.0.0.10\noptions ndots:5\n$/);
  const [ready] = (await suite.runtime.listPodSandboxes()).filter(({ id }) => id === sandbox);
  assert.equal(ready?.ready, true);
  assert.match(ready.ips[0] ?? "", /^10\./);
  await suite.runtime.stopContainer(first.id, 0);
  await suite.runtime.stopPodSandbox(sandbox);
  await suite.runtime.stopPodSandbox(sandbox);
  assert.equal((await suite.runtime.listPodSandboxes()).find(({ id }) => id === sandbox)?.ready, false);
  await suite.runtime.removePodSandbox(sandbox);
  // Without sharing, a container sees only itself; with the machine's, everything.
  assert.equal((await output("ps | grep -v PID | wc -l")).trim() <= "4", true);
  assert.match(
    await output("ps; hostname", {}, { hostPID: true, hostNetwork: true, hostIPC: true }),
    new RegExp(`^ *${process.pid} `, "m"),
  );
});

test("bounds are applied, changed and reported", options, async () => {
  const sandbox = await sandboxOf({ resources: { memoryLimitBytes: 256 << 20, pidsLimit: 200 } });
  const eater = await started(sandbox, "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo survived", {
    resources: { memoryLimitBytes: 32 << 20 },
  });
  const over = await ended(eater.id);
  assert.equal(over.reason, "OOMKilled", JSON.stringify(over));
  assert.notEqual(over.exitCode, 0);
  const pids = await started(sandbox, "for i in $(seq 30); do sleep 60 & done; echo done; wait", {
    resources: { pidsLimit: 12 },
  });
  await eventuallyPasses(() =>
    assert.match(readFileSync(pids.config.logPath, "utf8"), /fork|Resource temporarily/),
  );
  const busy = await started(sandbox, "while :; do :; done", {
    resources: { cpuShares: 2, cpuQuota: 20_000, cpuPeriod: 100_000 },
  });
  await eventuallyPasses(async () => {
    const stats = (await suite.runtime.listContainerStats()).find(
      ({ containerId }) => containerId === busy.id,
    );
    assert.ok((stats?.cpuNanoseconds ?? 0) > 20_000_000 && (stats?.memoryWorkingSetBytes ?? 0) > 0);
  });
  await suite.runtime.updateContainerResources(busy.id, { memoryLimitBytes: 64 << 20, cpuShares: 512 });
  const read = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null";
  assert.equal(
    (await suite.runtime.execSync(busy.id, ["sh", "-c", read], 10_000)).output.trim(),
    String(64 << 20),
  );
  const { uid } = (await suite.runtime.listPodSandboxes()).find(({ id }) => id === sandbox)!.config;
  const [bound = ""] = globSync(
    `/sys/fs/cgroup/{memory/,}dray/*/pod${uid}/{memory.max,memory.limit_in_bytes}`,
  );
  assert.equal(readFileSync(bound, "utf8").trim(), String(256 << 20));
  await suite.runtime.updatePodSandboxResources(sandbox, { memoryLimitBytes: 128 << 20 });
  assert.equal(readFileSync(bound, "utf8").trim(), String(128 << 20));
  await assert.rejects(suite.runtime.updatePodSandboxResources(sandbox, { pidsLimit: -7 }), {
    reason: "UpdatePodSandboxError",
    message: /pids\.max does not take -7: /,
  });
  await suite.runtime.removePodSandbox(sandbox);
  await assert.rejects(suite.runtime.updateContainerResources(busy.id, {}), { reason: "ContainerNotFound" });
  await assert.rejects(suite.runtime.updatePodSandboxResources(sandbox, {}), {
    reason: "UpdatePodSandboxError",
  });
});

test("stopping asks first, and waits as long as it may", options, async () => {
  const sandbox = await sandboxOf();
  const polite = await started(sandbox, "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.1; done");
  const deaf = await started(sandbox, "trap '' TERM; echo up; while :; do sleep 0.1; done");
  for (const { config } of [polite, deaf])
    await eventuallyPasses(() => assert.equal(readFileSync(config.logPath, "utf8"), "up\n"));
  await Promise.all([
    suite.runtime.stopContainer(polite.id, 20_000),
    suite.runtime.stopContainer(deaf.id, 300),
  ]);
  assert.deepEqual([(await status(polite.id)).exitCode, (await status(deaf.id)).exitCode], [5, 137]);
  assert.equal(readFileSync(polite.config.logPath, "utf8"), "up\nbye\n");
  await suite.runtime.stopContainer(polite.id, 1000);
  await suite.runtime.removePodSandbox(sandbox);
});

test("a container whose shell is killed counts as ended when nothing of it runs", options, async () => {
  const sandbox = await sandboxOf();
  const { id } = await started(sandbox, "trap '' TERM; while :; do sleep 31337; done", { stdin: true });
  const folder = join(suite.runtimes.folder, "node/containers", id);
  process.kill(Number.parseInt(readFileSync(join(folder, "wrapper"), "utf8"), 10), "SIGKILL");
  const over = await ended(id);
  assert.deepEqual([over.exitCode, over.reason], [137, "ContainerStatusUnknown"]);
  assert.doesNotMatch(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }), new RegExp(`31337|${id}`));
  await suite.runtime.removePodSandbox(sandbox);
});

test("containers outlive the agent, and the next one adopts all of them", options, async () => {
  const script = `
    import { testRuntimes } from ${JSON.stringify(import.meta.resolve("./testing/runtime.ts"))};
    const runtimes = await testRuntimes();
    const runtime = await runtimes.open();
    const { id: sandbox } = await runtime.runPodSandbox(runtimes.sandbox());
    const ids = [];
    for (const line of ["trap 'exit 0' TERM; while :; do echo tick; sleep 0.1; done", "sleep 0.5; echo last; exit 6", "sleep 1000", "sleep 1000"]) {
      const { id } = await runtime.createContainer(sandbox, runtimes.container("c", line, { stdin: true }));
      await runtime.startContainer(id);
      ids.push(id);
    }
    console.log(JSON.stringify({ folder: runtimes.folder, sandbox, ids }));
    setInterval(() => {}, 1000);`;
  const agent = spawn(
    process.execPath,
    [
      "--conditions=dray-source",
      "--disable-warning=ExperimentalWarning",
      "--input-type=module",
      "-e",
      script,
    ],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const [line] = await once(agent.stdout, "data");
  agent.kill("SIGKILL");
  await once(agent, "exit");
  const { folder, sandbox, ids } = JSON.parse(String(line)) as {
    folder: string;
    sandbox: string;
    ids: string[];
  };
  const [ticking = "", ending = "", orphan = "", killed = ""] = ids;
  const wrapper = (id: string): number =>
    Number.parseInt(readFileSync(join(folder, "node/containers", id, "wrapper"), "utf8"), 10);
  // One loses its shell, one the process that the shell runs.
  process.kill(wrapper(orphan), "SIGKILL");
  process.kill(
    Number.parseInt(readFileSync(join(folder, "node/containers", killed, "runner"), "utf8"), 10),
    "SIGKILL",
  );
  await eventuallyPasses(() =>
    assert.match(readFileSync(join(folder, "node/containers", ending, "exit"), "utf8"), /6/),
  );
  const { OciRuntime } = await import("./runtime.ts");
  const { OciImages } = await import("./images/service.ts");
  const { silentLog, systemClock } = await import("@dray/client");
  const images = await OciImages.open({ directory: join(folder, "images"), now: Date.now });
  const next = new OciRuntime({
    directory: join(folder, "node"),
    networkDirectory: join(folder, "network"),
    nodeName: "node",
    nodeAddress: "127.0.0.1",
    hostNetwork: "machine",
    networkNamespaces: join(folder, "netns-node"),
    nodePath: (path) => path,
    images,
    cdi: cdiRegistry([]),
    hostPath: (path) => path,
    clock: systemClock,
    newId: randomUUID,
    log: silentLog,
  });
  await next.start();
  const of = async (id: string): Promise<Container> =>
    (await next.listContainers()).find((one) => one.id === id)!;
  assert.equal((await of(ticking)).state, "running");
  assert.deepEqual([(await of(ending)).exitCode, (await of(ending)).reason], [6, "Error"]);
  assert.deepEqual([(await of(orphan)).exitCode, (await of(orphan)).reason], [137, "ContainerStatusUnknown"]);
  await eventuallyPasses(async () => assert.equal((await of(killed)).exitCode, 137));
  const [pod] = await next.listPodSandboxes();
  assert.deepEqual([pod?.id, pod?.ready], [sandbox, true]);
  assert.equal((await next.execSync(ticking, ["echo", "hi"], 20_000)).output, "hi\n");
  await next.stopContainer(ticking, 20_000);
  assert.equal((await of(ticking)).exitCode, 0);
  // Nothing of the container whose shell was killed still runs.
  const commands = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
  assert.doesNotMatch(commands, new RegExp(orphan));
  await next.destroy();
  assert.deepEqual(readdirSync(join(folder, "node/containers")), []);
  images.close();
  assert.ok(!readFileSync("/proc/mounts", "utf8").includes(folder));
  rmSync(folder, { recursive: true });
});
