import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { ContainerConfig } from "../runtime/config.ts";
import type { HostRuntime } from "../runtime/host/host.ts";
import type { ImageMapping } from "../runtime/host/images.ts";
import { container, sandbox, testRuntime } from "./agent.ts";

/** A host runtime for a test. */
export interface Machine {
  readonly root: string;
  readonly runtime: HostRuntime;
  /** Programs of images; may be extended. */
  readonly images: ImageMapping[];
  /** Starts a container. Returns its ID. */
  start(config: Partial<ContainerConfig> & Pick<ContainerConfig, "command">): Promise<string>;
  /** Runs a container to its end. Returns its output and exit code. */
  run(
    config: Partial<ContainerConfig> & Pick<ContainerConfig, "command">,
  ): Promise<[string, number | undefined]>;
}

export async function withRuntime(
  isolation: string,
  body: (machine: Machine) => Promise<void>,
): Promise<void> {
  const root = mkdtempSync("/tmp/dk-");
  const alive = setInterval(() => {}, 1000);
  const images: ImageMapping[] = [];
  const runtime = testRuntime(root, isolation, images);
  await runtime.start();
  let count = 0;
  const start: Machine["start"] = async (config) => {
    const { id } = await runtime.runPodSandbox(sandbox);
    const made = await runtime.createContainer(id, {
      ...container(root, config.command),
      logPath: join(root, `${count++}.log`),
      ...config,
    });
    await runtime.startContainer(made.id);
    return made.id;
  };
  try {
    await body({
      root,
      runtime,
      images,
      start,
      async run(config) {
        const log = join(root, `${count}.log`);
        const id = await start(config);
        const find = async () => (await runtime.listContainers()).find((one) => one.id === id);
        await eventuallyPasses(async () => assert.equal((await find())?.state, "exited"));
        return [readFileSync(log, "utf8"), (await find())?.exitCode];
      },
    });
  } finally {
    for (const { id } of await runtime.listPodSandboxes()) await runtime.removePodSandbox(id);
    await runtime.close();
    clearInterval(alive);
    rmSync(root, { recursive: true });
  }
}
