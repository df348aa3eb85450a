import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventuallyPasses } from "@dray/testing/eventually";
import { temporaryFolder } from "@dray/testing/folder";
import { container, isolations, sandbox, security } from "../../testing/agent.ts";
import { type Machine, withRuntime } from "../../testing/runtime.ts";
import type { SandboxConfig } from "../config.ts";

const agentSpace = readlinkSync("/proc/self/ns/pid");

/** Runs `body` on a runtime whose containers have pid name spaces. */
type WithSpaces = (context: TestContext, body: (machine: Machine) => Promise<void>) => Promise<void>;

for (const isolation of isolations.filter((one) => one !== "plain"))
  describe(`pid name spaces, ${isolation}`, () => {
    const withSpaces: WithSpaces = (context, body) =>
      withRuntime(isolation, async (machine) => {
        if (!machine.runtime.hasPidSpaces) return context.skip("no pid name spaces");
        await body(machine);
      });
    firstProcessTests(withSpaces);
    sharingTests(withSpaces);
    test("a container ends after its clients have disconnected, under an init that reaps no orphans", (context) =>
      withSpaces(context, async () => {
        const script = fileURLToPath(new URL("../../testing/canceled-exec.ts", import.meta.url));
        const flags = process.execArgv.filter((flag) => /^--(conditions|disable-warning)=/.test(flag));
        const words = [process.execPath, ...flags, script, temporaryFolder(context), isolation];
        const user = process.getuid?.() === 0 ? [] : ["--user", "--map-current-user"];
        const spaces = [...user, "--pid", "--fork", "--kill-child", "--mount-proc"];
        // `sleep` reaps nothing.
        const init = ["sh", "-c", '"$@" & exec sleep 1000', "init", ...words];
        const child = spawn("unshare", [...spaces, ...init], { stdio: ["ignore", "pipe", "inherit"] });
        const expired = AbortSignal.timeout(60_000);
        const [output] = await once(child.stdout, "data", { signal: expired }).finally(() =>
          child.kill("SIGKILL"),
        );
        assert.equal(String(output), "removed\n");
      }));
  });

function firstProcessTests(withSpaces: WithSpaces): void {
  test("a program is the first process of its pod, and sees its own processes only", (context) =>
    withSpaces(context, async ({ run, start, runtime }) => {
      const script = 'echo $$; readlink /proc/self/ns/pid; echo /proc/[0-9]*; ps -o pid= $$ | tr -d " "';
      const [output, code] = await run({ command: ["/bin/bash", "-c", script] });
      assert.equal(code, 0, output);
      const [own, space, all, listed] = output.split("\n");
      assert.equal(own, "1");
      assert.notEqual(space, agentSpace);
      assert.equal(all, "/proc/1");
      assert.equal(listed, "1");
      const id = await start({ command: ["/bin/sleep", "1000"] });
      // The shell that starts it has become it a moment later.
      await eventuallyPasses(async () => {
        const shown = await runtime.execSync(id, ["cat", "/proc/1/comm"], 10_000);
        assert.equal(shown.output, "sleep\n");
      });
    }));

  test("signals to all processes, and to a group, reach those of the container only", (context) =>
    withSpaces(context, async ({ start, runtime }) => {
      const other = await start({ command: ["/bin/sleep", "1000"] });
      const privileged = { ...security, privileged: true };
      for (const [name, command] of [
        ["all", "kill -9 -1"],
        ["group", "kill -9 0"],
      ] as const) {
        const id = await start({ command: ["sh", "-c", "sleep 1000; sleep 1000"], security: privileged });
        const space = await runtime.execSync(id, ["readlink", "/proc/self/ns/pid"], 10_000);
        // Without one, the signal would end this machine.
        assert.notEqual(space.output.trim(), agentSpace);
        assert.equal(space.exitCode, 0);
        await runtime.execSync(id, ["bash", "-c", command], 10_000);
        const states = new Map((await runtime.listContainers()).map((one) => [one.id, one.state]));
        assert.equal(states.get(other), "running", name);
        assert.equal(states.get(id), "running", name);
      }
    }));

  test("SIGTERM ends a program that handles it, SIGKILL after the grace one that does not", (context) =>
    withSpaces(context, async ({ start, runtime }) => {
      const codeOf = async (id: string) =>
        (await runtime.listContainers()).find((one) => one.id === id)?.exitCode;
      const script = 'trap "exit 7" TERM; echo ready; sleep 1000 & wait';
      const handling = await start({ command: ["bash", "-c", script] });
      await eventuallyPasses(() => assert.ok(runtime.heedsTermination(handling)));
      await runtime.stopContainer(handling, 60_000);
      assert.equal(await codeOf(handling), 7);
      const deaf = await start({ command: ["/bin/sleep", "1000"] });
      await eventuallyPasses(() => assert.equal(runtime.heedsTermination(deaf), false));
      await runtime.stopContainer(deaf, 50);
      assert.equal(await codeOf(deaf), 137);
    }));
}

function sharingTests(withSpaces: WithSpaces): void {
  const pod = async ({ root, runtime }: Machine, config: Partial<SandboxConfig>) => {
    const { id: sandboxId, unsupported } = await runtime.runPodSandbox({ ...sandbox, ...config });
    assert.deepEqual(unsupported, []);
    return async (name: string, command: readonly string[]) => {
      const logPath = join(root, `${name}.log`);
      const { id } = await runtime.createContainer(sandboxId, { ...container(root, command), name, logPath });
      await runtime.startContainer(id);
      return id;
    };
  };

  test("with hostPID a program sees the machine's processes", (context) =>
    withSpaces(context, async (machine) => {
      const start = await pod(machine, { hostPID: true });
      const id = await start("main", ["/bin/sleep", "1000"]);
      const { output } = await machine.runtime.execSync(id, ["readlink", "/proc/self/ns/pid"], 10_000);
      assert.equal(output.trim(), agentSpace);
      const line = await machine.runtime.execSync(id, ["cat", `/proc/${process.pid}/comm`], 10_000);
      assert.equal(line.output, readFileSync("/proc/self/comm", "utf8"));
    }));

  test("with shareProcessNamespace containers see each other, and orphans are reaped", (context) =>
    withSpaces(context, async (machine) => {
      const { runtime } = machine;
      const start = await pod(machine, { shareProcessNamespace: true });
      const first = await start("first", ["/bin/sleep", "1001"]);
      const second = await start("second", ["sh", "-c", "(sleep 0 &); exec sleep 1002"]);
      const show = "for p in /proc/[0-9]*; do cat $p/comm; cat $p/cmdline | tr '\\0' ' '; echo; done";
      await eventuallyPasses(async () => {
        const { output } = await runtime.execSync(first, ["sh", "-c", show], 10_000);
        assert.match(output, /sleep 1001/);
        assert.match(output, /sleep 1002/);
        const zombies = await runtime.execSync(first, ["sh", "-c", "cat /proc/[0-9]*/stat"], 10_000);
        assert.doesNotMatch(zombies.output, /\) Z /);
      });
      const spaces = await Promise.all(
        [first, second].map((id) => runtime.execSync(id, ["readlink", "/proc/self/ns/pid"], 10_000)),
      );
      assert.equal(spaces[0]?.output, spaces[1]?.output);
      assert.notEqual(spaces[0]?.output.trim(), agentSpace);
      await runtime.stopContainer(second, 60_000);
      const states = (await runtime.listContainers()).map(({ id, exitCode }) => [id, exitCode]);
      assert.deepEqual(
        new Map(states as [string, number][]),
        new Map([
          [first, undefined],
          [second, 143],
        ]),
      );
      const [made] = (await runtime.listPodSandboxes()).map(({ id }) => id);
      assert.ok(made);
      await runtime.stopPodSandbox(made);
      assert.equal((await runtime.listPodSandboxes())[0]?.ready, false);
    }));
}
