import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventuallyPasses } from "@dray/testing/eventually";
import { container, isolations, sandbox, testRuntime } from "../../testing/agent.ts";
import { processesWith } from "../../testing/processes.ts";
import { isAlive, type ProcessStat, parseStat, processStat } from "./processes.ts";

const agentFile = fileURLToPath(new URL("../../testing/agent.ts", import.meta.url));

/** Starts an agent with one container, and kills the agent. */
async function killedAgent(root: string, isolation: string, script: string): Promise<void> {
  const agent = spawn(
    process.execPath,
    [
      ...process.execArgv.filter((arg) => !arg.startsWith("--test")),
      agentFile,
      root,
      isolation,
      "bash",
      "-c",
      script,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  await once(agent.stdout, "data");
  agent.kill("SIGKILL");
  await once(agent, "exit");
}

for (const isolation of isolations) {
  test(`${isolation}: a container outlives an agent that is killed, and the next one takes it over`, async () => {
    const root = mkdtempSync("/tmp/dk-");
    await killedAgent(root, isolation, 'echo one; trap "echo two; exit 5" TERM; sleep 1000 & wait');
    const alive = setInterval(() => {}, 1000);
    const runtime = testRuntime(root, isolation);
    await runtime.start();
    const [found] = await runtime.listContainers();
    assert.equal(found?.state, "running");
    await runtime.stopContainer(found?.id ?? "", 5000);
    const [ended] = await runtime.listContainers();
    assert.equal(ended?.exitCode, 5);
    assert.equal(readFileSync(join(root, "main.log"), "utf8"), "one\ntwo\n");
    for (const { id } of await runtime.listPodSandboxes()) await runtime.removePodSandbox(id);
    await runtime.close();
    clearInterval(alive);
    rmSync(root, { recursive: true });
  });

  test(`${isolation}: a container that ends while no agent runs keeps its exit code and leaves no process`, async () => {
    const root = mkdtempSync("/tmp/dk-");
    const mark = `${3_000_000 + process.pid}`;
    // Ends only after its child was seen.
    const script = `trap 'exit 6' USR1; (setsid sleep ${mark} &); while :; do sleep 0.1; done`;
    await killedAgent(root, isolation, script);
    await eventuallyPasses(async () => assert.equal(processesWith("sleep", mark).length, 1));
    const alive = setInterval(() => {}, 1000);
    const directory = join(root, "runtime/containers");
    const [id = ""] = readdirSync(directory);
    const program = parseStat(readFileSync(join(directory, id, "start"), "utf8").slice("started ".length));
    process.kill(program!.pid, "SIGUSR1");
    await eventuallyPasses(async () => {
      assert.equal(readFileSync(join(directory, id, "exit"), "utf8"), "6\n");
    });
    const runtime = testRuntime(root, isolation);
    await runtime.start();
    const [found] = await runtime.listContainers();
    assert.equal(found?.state, "exited");
    assert.equal(found?.exitCode, 6);
    for (const { id } of await runtime.listPodSandboxes()) await runtime.removePodSandbox(id);
    await eventuallyPasses(async () => assert.deepEqual(processesWith("sleep", mark), []));
    await runtime.close();
    clearInterval(alive);
    rmSync(root, { recursive: true });
  });
}

test("a command that ran in a container when the agent was killed ends with the container", async () => {
  const root = mkdtempSync("/tmp/dk-");
  await killedAgent(root, "auto+exec", "sleep 1000");
  const alive = setInterval(() => {}, 1000);
  const runtime = testRuntime(root, "auto");
  await runtime.start();
  const [found] = await runtime.listContainers();
  assert.equal(found?.state, "running");
  const members = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => processStat(Number(name)))
    .filter((stat) => stat !== undefined && environment(stat.pid).includes(`DRAY_CONTAINER_ID=${found?.id}`));
  const commands = members.filter((stat) => stat && environment(stat.pid).includes("DRAY_EXEC_ID="));
  assert.ok(commands.length >= 2);
  await runtime.stopContainer(found?.id ?? "", 0);
  assert.ok(commands.every((stat) => stat && !isAlive(stat)));
  for (const { id } of await runtime.listPodSandboxes()) await runtime.removePodSandbox(id);
  await runtime.close();
  clearInterval(alive);
  rmSync(root, { recursive: true });
});

function environment(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    return "";
  }
}

test("the time at which a container was found lost stays, however often the agent starts", async () => {
  const root = mkdtempSync("/tmp/dk-");
  await killedAgent(root, "plain", "sleep 1000");
  const directory = join(root, "runtime/containers");
  const [id = ""] = readdirSync(directory);
  const wrapper = processStat(Number.parseInt(readFileSync(join(directory, id, "wrapper"), "utf8"), 10));
  assert.ok(wrapper);
  process.kill(wrapper.pid, "SIGKILL");
  await eventuallyPasses(async () => assert.ok(!isAlive(wrapper)));
  const finished: (number | undefined)[] = [];
  for (let starts = 0; starts < 2; starts++) {
    const runtime = testRuntime(root, "plain");
    await runtime.start();
    const [found] = await runtime.listContainers();
    assert.deepEqual([found?.state, found?.exitCode], ["exited", 137]);
    assert.equal(found?.reason, "ContainerStatusUnknown");
    finished.push(found?.finishedAt);
    if (starts === 1)
      for (const sandbox of await runtime.listPodSandboxes()) await runtime.removePodSandbox(sandbox.id);
    await runtime.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.ok(finished[0]);
  assert.equal(finished[1], finished[0]);
  rmSync(root, { recursive: true });
});

test("a container whose shell is killed ends with all its processes, with an unknown exit status", async () => {
  const root = mkdtempSync("/tmp/dk-");
  const alive = setInterval(() => {}, 1000);
  const runtime = testRuntime(root, "auto");
  await runtime.start();
  const { id } = await runtime.runPodSandbox(sandbox);
  const made = await runtime.createContainer(id, container(root, ["bash", "-c", "sleep 1000 & sleep 1000"]));
  await runtime.startContainer(made.id);
  const identityIn = (file: string): ProcessStat | undefined => {
    const text = readFileSync(join(root, "runtime/containers", made.id, file), "utf8");
    return parseStat(text.replace("started ", ""));
  };
  const [wrapper, program] = [identityIn("wrapper"), identityIn("start")];
  assert.ok(wrapper && program);
  process.kill(wrapper.pid, "SIGKILL");
  await eventuallyPasses(async () => assert.equal((await runtime.listContainers())[0]?.state, "exited"));
  assert.equal((await runtime.listContainers())[0]?.reason, "ContainerStatusUnknown");
  await eventuallyPasses(async () => assert.ok(!isAlive(program)));
  await runtime.removePodSandbox(id);
  await runtime.close();
  clearInterval(alive);
  rmSync(root, { recursive: true });
});

test("an agent that was closed does nothing more when a container ends that it had left", async () => {
  const root = mkdtempSync("/tmp/dk-");
  const alive = setInterval(() => {}, 1000);
  const first = testRuntime(root, "plain");
  await first.start();
  const { id } = await first.runPodSandbox(sandbox);
  const made = await first.createContainer(id, container(root, ["sleep", "1000"]));
  await first.startContainer(made.id);
  await first.close();
  // The stop is aborted: the next agent sees what becomes of the container.
  await first.stopContainer(made.id, 0);
  const changes: string[] = [];
  first.onChange((uid) => changes.push(uid));
  const next = testRuntime(root, "plain");
  await next.start();
  assert.equal((await next.listContainers())[0]?.state, "running");
  await next.removePodSandbox(id);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(changes, []);
  assert.equal((await first.listContainers())[0]?.state, "running");
  await next.close();
  clearInterval(alive);
  rmSync(root, { recursive: true });
});
