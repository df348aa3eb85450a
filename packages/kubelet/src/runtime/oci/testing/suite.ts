import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { after, before } from "node:test";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { ContainerConfig, SandboxConfig } from "../../config.ts";
import type { ClientStreams, Container } from "../../service.ts";
import { cgroupOf, type OciRuntime } from "../runtime.ts";
import { lackOfContainers, type TestRuntimes, testRuntimes } from "./runtime.ts";

const missing = await lackOfContainers();
/** Skips tests on machines without containers. */
export const options = missing === undefined ? {} : { skip: missing };

/** Runtimes of a test file, which `startRuntime` sets unless its tests are skipped. */
class Suite {
  runtimes!: TestRuntimes;
  runtime!: OciRuntime;
}

export const suite = new Suite();

/** Starts one runtime for the tests of a file, and checks at their end that nothing is left behind. */
export function startRuntime(): void {
  before(async () => {
    if (missing !== undefined) return;
    suite.runtimes = await testRuntimes();
    suite.runtime = await suite.runtimes.open();
  });
  after(async () => {
    if (missing !== undefined) return;
    const { folder } = suite.runtimes;
    await suite.runtimes.close();
    // Nothing is left on the machine.
    const mounts = readFileSync("/proc/mounts", "utf8");
    assert.ok(!mounts.includes(folder));
    const cgroups = mounts.split("\n").filter((line) => /^\S+ \S+ cgroup2? /.test(line));
    for (const line of cgroups) {
      const place = join(line.split(" ")[1] ?? "", cgroupOf(join(folder, "node")));
      assert.ok(!existsSync(place), `${place} is left`);
    }
    const commands = execFileSync("ps", ["-eo", "pid,ppid,stat,args"], { encoding: "utf8" }).split("\n");
    assert.deepEqual(
      commands.filter((line) => line.includes(folder)),
      [],
    );
  });
}

export const sandboxOf = async (values: Partial<SandboxConfig> = {}): Promise<string> =>
  (await suite.runtime.runPodSandbox(suite.runtimes.sandbox(values))).id;

export async function started(
  sandbox: string,
  script: string,
  values: Partial<ContainerConfig> = {},
): Promise<{ id: string; config: ContainerConfig }> {
  const config = suite.runtimes.container("main", script, values);
  const { id } = await suite.runtime.createContainer(sandbox, config);
  await suite.runtime.startContainer(id);
  return { id, config };
}

export async function status(id: string): Promise<Container> {
  const found = (await suite.runtime.listContainers()).find((container) => container.id === id);
  assert.ok(found);
  return found;
}

export const ended = (id: string): Promise<Container> =>
  eventuallyPasses(async () => {
    const container = await status(id);
    assert.equal(container.state, "exited");
    return container;
  });

/** Runs a script to its end. Returns its output. */
export async function output(
  script: string,
  container: Partial<ContainerConfig> = {},
  sandbox: Partial<SandboxConfig> = {},
): Promise<string> {
  const pod = await sandboxOf(sandbox);
  // Both outputs in one, in order, since runc copies each on its own.
  const { id, config } = await started(pod, `exec 2>&1; ${script}`, container);
  await ended(id);
  const text = readFileSync(config.logPath, "utf8");
  await suite.runtime.removePodSandbox(pod);
  return text;
}

export function streams(stdin?: Readable): ClientStreams & { text: () => string } {
  const stdout = new PassThrough();
  let text = "";
  stdout.on("data", (chunk) => {
    text += String(chunk);
  });
  const stderr = new PassThrough().on("data", (chunk) => {
    text += String(chunk);
  });
  return { stdin, stdout, stderr, resize: undefined, text: () => text };
}
