import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventuallyPasses } from "@dray/testing/eventually";
import { isolations, testRuntime } from "../../testing/agent.ts";
import { processesWith } from "../../testing/processes.ts";
import { withRuntime } from "../../testing/runtime.ts";
import { detectCgroups, makeCgroup, removeCgroup } from "./cgroups.ts";

const awkward: readonly (readonly [string, string])[] = [
  // Variables of the scripts around a container.
  ["root", "r"],
  ["directory", "d"],
  ["table", "t"],
  ["stat", "s"],
  ["input", "i"],
  ["environment", "e"],
  ["cgroup", "c"],
  // Variables of shells.
  ["IFS", "x"],
  ["PS4", "p"],
  ["UID", "4711"],
  ["OPTIND", "not a number"],
  ["BASH_ENV", "/nowhere"],
  // Names that are invalid in shells.
  ["with.dot", "1"],
  ["with-dash", "2"],
  ["1digit", "3"],
  ["LINES_OF", "a\nb\n"],
  ["QUOTED", `it's "so" $HOME \\ \`date\``],
  ["EMPTY", ""],
  ["NOT_ASCII", "grün"],
];

/** Parses the output of `env -0`. */
function variables(output: string): ReadonlyMap<string, string> {
  return new Map(
    output
      .split("\0")
      .filter(Boolean)
      .map((line): [string, string] => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
}

for (const isolation of isolations)
  describe(`host runtime, ${isolation}`, () => {
    environmentTests(isolation);
    processTests(isolation);
  });

function environmentTests(isolation: string): void {
  test("a program gets its environment as it stands, and exec the same", () =>
    withRuntime(isolation, async ({ start, run, runtime }) => {
      // A PATH without `env`.
      const env = [...awkward, ["PATH", "/nowhere"] as const];
      const [output, code] = await run({ command: ["/usr/bin/env", "-0"], env });
      assert.equal(code, 0, output);
      const got = variables(output);
      for (const [name, value] of env) assert.equal(got.get(name), value, name);

      const id = await start({ command: ["/bin/sleep", "1000"], env });
      const executed = await runtime.execSync(id, ["/usr/bin/env", "-0"], 10_000);
      const there = variables(executed.output);
      for (const [name, value] of env) assert.equal(there.get(name), value, `exec: ${name}`);
    }));

  test("no tool around a container sees its environment", () =>
    withRuntime(isolation, async ({ root, start, run, runtime }) => {
      const library = join(root, "no-such-library.so");
      const env = [["LD_PRELOAD", library]] as const;
      const [output] = await run({ command: ["/bin/true"], env });
      // The dynamic linker complains once for each program.
      assert.equal(output.split(library).length - 1, 1, output);
      for (const id of readdirSync(join(root, "runtime/containers")))
        assert.equal(readFileSync(join(root, "runtime/containers", id, "error"), "utf8"), "");
      const id = await start({ command: ["/bin/sleep", "1000"], env });
      const executed = await runtime.execSync(id, ["/bin/true"], 10_000);
      assert.equal(executed.output.split(library).length - 1, 1, executed.output);
    }));

  test("a variable that no program can have is named", () =>
    withRuntime(isolation, async ({ start }) => {
      for (const env of [
        ["A", "x\0y"],
        ["A\0B", ""],
        ["", "x"],
      ] as const)
        await assert.rejects(start({ command: ["/bin/true"], env: [env] }), {
          reason: "CreateContainerError",
          message: /^environment variable ".*" cannot be set: a name must not be empty/,
        });
    }));
}

function processTests(isolation: string): void {
  test("a process that leaves its session, its parent and its environment ends with its container", async (context) => {
    await withRuntime(isolation, async ({ start, runtime }) => {
      if (runtime.containment === undefined) return context.skip("no cgroups and no pid name spaces");
      const mark = `${4_000_000 + process.pid}`;
      const leave = (seconds: string): string => `(setsid env -i /bin/sleep ${seconds} &)`;
      const id = await start({
        command: ["/bin/sh", "-c", `${leave(mark)}; exec /bin/sleep 1000`],
      });
      await eventuallyPasses(async () => assert.equal(processesWith(mark).length, 1));
      const executed = `${mark}1`;
      await runtime.execSync(id, ["/bin/sh", "-c", leave(executed)], 10_000);
      await eventuallyPasses(async () => assert.equal(processesWith(executed).length, 1));
      await runtime.removeContainer(id);
      assert.deepEqual(processesWith(mark), []);
      assert.deepEqual(processesWith(executed), []);
    });
  });

  test("a cgroup goes with what its container was: an end, a sandbox that stops, an agent that is killed", async (context) => {
    const cgroups = await detectCgroups(randomUUID);
    if ("reason" in cgroups) return context.skip("no cgroups");
    await withRuntime(isolation, async ({ start, run, runtime, root }) => {
      const left = async (): Promise<string[]> =>
        (await runtime.listContainers()).map(({ id }) => cgroups.path(id)).filter((path) => existsSync(path));
      await run({ command: ["/bin/true"] });
      for (let count = 0; count < 5; count++) await start({ command: ["/bin/sleep", "1000"] });
      for (const { id } of await runtime.listPodSandboxes()) await runtime.stopPodSandbox(id);
      assert.deepEqual(await left(), []);
      // Left by an agent that was killed between the removal of the record and that of the rest.
      const id = `${process.pid}-${isolation}`;
      mkdirSync(join(root, "runtime/containers", id));
      makeCgroup(cgroups.path(id));
      const next = testRuntime(root, isolation);
      await next.start();
      await next.close();
      assert.equal(existsSync(cgroups.path(id)), isolation === "pids");
      removeCgroup(cgroups.path(id));
    });
  });

  test("a program that makes processes without end ends, and leaves no cgroup", async (context) => {
    await withRuntime(isolation, async ({ start, runtime, root }) => {
      if (runtime.containment === undefined) return context.skip("no cgroups and no pid name spaces");
      const script = join(root, "x".repeat(20));
      const loop = `while :; do (setsid env -i /bin/sh -c ': ${script}; sleep 0.2; : again' &) ; done`;
      const id = await start({ command: ["/bin/sh", "-c", `${loop} >/dev/null 2>&1`] });
      await runtime.removeContainer(id);
      const cgroups = await detectCgroups(randomUUID);
      if (!("reason" in cgroups)) assert.equal(existsSync(cgroups.path(id)), false);
      assert.deepEqual(processesWith("-c", `: ${script}; sleep 0.2; : again`), []);
    });
  });
}
