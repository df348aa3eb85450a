import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { eventuallyPasses } from "@dray/testing/eventually";
import { container, isolations, sandbox } from "../../testing/agent.ts";
import { type Machine, withRuntime } from "../../testing/runtime.ts";
import { type Controller, detectBounds, settingsOf, unboundedOf } from "./bounds.ts";

const bounds = detectBounds(randomUUID);

/** Folders of the cgroups of a container, below those of its pod. */
const foldersOf = (id: string): string[] =>
  [...new Set(bounds.parents.values())].flatMap((parent) => globSync(join(parent, `dray-*/dray-${id}`)));

/** Contents of a file of a container's cgroup, by its name in either version. */
const read = (id: string, ...names: readonly string[]): string | undefined => readIn(foldersOf(id), names);

function readIn(folders: readonly string[], names: readonly string[]): string | undefined {
  for (const folder of folders)
    for (const name of names)
      if (existsSync(join(folder, name))) return readFileSync(join(folder, name), "utf8").trim();
  return undefined;
}

/** Runs a test in a runtime whose machine has the controllers. */
const boundedBy =
  (isolation: string) =>
  (context: TestContext, controllers: readonly Controller[], body: (machine: Machine) => Promise<void>) => {
    const missing = controllers.filter((one) => !bounds.parents.has(one));
    if (missing.length > 0) return context.skip(`no controllers ${missing.join(", ")}`);
    return withRuntime(isolation, body);
  };

type Bounded = ReturnType<typeof boundedBy>;

// Without cgroups there are no bounds.
for (const isolation of isolations.filter((one) => one !== "pids"))
  describe(`bounds of containers, ${isolation}`, () => {
    containerTests(boundedBy(isolation));
    podTests(boundedBy(isolation));
  });

function containerTests(bounded: Bounded): void {
  test("a container beyond its memory limit is killed, with the reason OOMKilled", (context) =>
    bounded(context, ["memory"], async ({ run, runtime }) => {
      await run({ command: ["/usr/bin/tail", "/dev/zero"], resources: { memoryLimitBytes: 32 << 20 } });
      const [found] = await runtime.listContainers();
      assert.deepEqual([found?.reason, found?.exitCode], ["OOMKilled", 137]);
    }));

  test("limits apply to exec", (context) =>
    bounded(context, ["memory"], async ({ start, runtime }) => {
      const id = await start({
        command: ["/bin/sleep", "1000"],
        resources: { memoryLimitBytes: 32 << 20 },
      });
      const { exitCode } = await runtime.execSync(id, ["/usr/bin/tail", "/dev/zero"], 60_000);
      assert.equal(exitCode, 137);
    }));

  test("a fork bomb ends at the limit of processes", (context) =>
    bounded(context, ["pids"], async ({ run, start }) => {
      const script = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done; echo all";
      const [output] = await run({ command: ["/bin/sh", "-c", script], resources: { pidsLimit: 5 } });
      assert.match(output, /[Cc]annot fork/);
      assert.doesNotMatch(output, /all/);
      const id = await start({ command: ["/bin/sleep", "1000"] });
      // The default limit.
      assert.match(read(id, "pids.max") ?? "", /^\d+$/);
    }));

  test("cpu and memory are as configured, and can be changed at run time", (context) =>
    bounded(context, ["cpu", "memory"], async ({ start, runtime }) => {
      const id = await start({
        command: ["/bin/sleep", "1000"],
        resources: { cpuShares: 512, cpuQuota: 50_000, cpuPeriod: 100_000, memoryLimitBytes: 64 << 20 },
      });
      const quota = (): string | undefined => read(id, "cpu.max", "cpu.cfs_quota_us")?.split(" ")[0];
      const memory = (): string | undefined => read(id, "memory.max", "memory.limit_in_bytes");
      assert.deepEqual([quota(), memory()], ["50000", `${64 << 20}`]);
      await runtime.updateContainerResources(id, { cpuQuota: 20_000, memoryLimitBytes: 128 << 20 });
      assert.deepEqual([quota(), memory()], ["20000", `${128 << 20}`]);
      await runtime.updateContainerResources(id, { memoryLimitBytes: 32 << 20 });
      assert.deepEqual([quota(), memory()], ["20000", `${32 << 20}`]);
      await assert.rejects(runtime.updateContainerResources(id, { cpuQuota: 1 }), {
        reason: "RunContainerError",
        message: /cpu\S+ does not take 1\b/,
      });
    }));

  test("counts the usage of a container", (context) =>
    bounded(context, ["cpuacct", "memory"], async ({ start, runtime }) => {
      const id = await start({ command: ["/bin/sh", "-c", "while :; do :; done"] });
      await eventuallyPasses(async () => {
        const stats = (await runtime.listContainerStats()).find(({ containerId }) => containerId === id);
        assert.ok((stats?.cpuNanoseconds ?? 0) > 10_000_000);
        assert.ok((stats?.memoryWorkingSetBytes ?? 0) > 0);
      });
    }));

  test("the cgroups of a container are removed with it", (context) =>
    bounded(context, ["memory"], async ({ start, runtime }) => {
      const id = await start({ command: ["/bin/sleep", "1000"] });
      const folders = foldersOf(id);
      assert.equal(folders.length, new Set(bounds.parents.values()).size);
      await runtime.removeContainer(id);
      assert.ok(!folders.some(existsSync));
    }));
}

function podTests(bounded: Bounded): void {
  test("pod-level limits apply beside those of the containers", (context) =>
    bounded(context, ["cpu", "memory", "pids"], async ({ root, runtime }) => {
      const resources = { cpuQuota: 50_000, cpuPeriod: 100_000, memoryLimitBytes: 48 << 20, pidsLimit: 77 };
      const made = await runtime.runPodSandbox({ ...sandbox, resources, hasOwnLimits: true });
      assert.deepEqual(
        made.unsupported.filter((text) => text.startsWith("limit")),
        [],
      );
      const config = container(root, ["/usr/bin/tail", "/dev/zero"]);
      const { id } = await runtime.createContainer(made.id, config);
      await runtime.startContainer(id);
      const folders = foldersOf(id).map((folder) => dirname(folder));
      assert.ok(folders.every((folder) => basename(folder) === `dray-${made.id}`));
      const found = (...names: string[]) => readIn(folders, names);
      assert.equal(found("cpu.max", "cpu.cfs_quota_us")?.split(" ")[0], "50000");
      assert.equal(found("memory.max", "memory.limit_in_bytes"), `${48 << 20}`);
      assert.equal(found("pids.max"), "77");
      await eventuallyPasses(async () => {
        const [eater] = await runtime.listContainers();
        assert.deepEqual([eater?.reason, eater?.exitCode], ["OOMKilled", 137]);
      });
      await runtime.updatePodSandboxResources(made.id, { memoryLimitBytes: 64 << 20 });
      assert.equal(found("memory.max", "memory.limit_in_bytes"), `${64 << 20}`);
      await runtime.stopPodSandbox(made.id);
      assert.ok(!folders.some(existsSync));
    }));
}

test("the settings of both versions of cgroups", () => {
  const resources = {
    cpuShares: 1024,
    cpuQuota: 150_000,
    cpuPeriod: 100_000,
    memoryLimitBytes: 1 << 20,
    pidsLimit: 10,
    cpusetCpus: "0-1",
  };
  assert.deepEqual(settingsOf(resources, 2), [
    ["cpu", "cpu.weight", "100"],
    ["cpu", "cpu.max", "150000 100000"],
    ["memory", "memory.max", "1048576"],
    ["memory", "memory.swap.max", "0"],
    ["pids", "pids.max", "10"],
    ["cpuset", "cpuset.cpus", "0-1"],
  ]);
  assert.deepEqual(settingsOf(resources, 1), [
    ["cpu", "cpu.shares", "1024"],
    ["cpu", "cpu.cfs_period_us", "100000"],
    ["cpu", "cpu.cfs_quota_us", "150000"],
    ["memory", "memory.limit_in_bytes", "1048576"],
    ["memory", "memory.memsw.limit_in_bytes", "1048576"],
    ["pids", "pids.max", "10"],
    ["cpuset", "cpuset.cpus", "0-1"],
  ]);
  assert.deepEqual(settingsOf({}, 1), []);
  // The minimum beside other processes of the machine.
  assert.deepEqual(settingsOf({ cpuShares: 2 }, 1), [["cpu", "cpu.shares", "1024"]]);
  assert.deepEqual(settingsOf({ cpuShares: 2 }, 2), [["cpu", "cpu.weight", "100"]]);
  assert.deepEqual(settingsOf({ cpuShares: 8192 }, 1), [["cpu", "cpu.shares", "8192"]]);
  assert.deepEqual(settingsOf({ cpuShares: 8192 }, 2), [["cpu", "cpu.weight", "313"]]);
});

test("names the limits that cannot be enforced, not the requests", () => {
  const none = { version: 1, parents: new Map() } as const;
  assert.deepEqual(unboundedOf(none, { cpuShares: 2, oomScoreAdj: 1000 }), []);
  assert.deepEqual(
    unboundedOf(none, { cpuQuota: 1000, memoryLimitBytes: 1, pidsLimit: 1, cpusetCpus: "0" }),
    ["limit of cpu", "limit of memory", "limit of processes", "cpuset 0"],
  );
});
