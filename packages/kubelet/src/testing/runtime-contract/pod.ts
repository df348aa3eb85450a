import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { eventuallyPasses } from "@dray/testing/eventually";
import type {
  ContainerConfig,
  ContainerIdentity,
  SandboxConfig,
  SandboxIdentity,
  SecurityConfig,
} from "../../runtime/config.ts";
import type { Container, LogLine, NodeRuntime } from "../../runtime/service.ts";
import type { ContractMachine } from "./types.ts";

export const plainSecurity: SecurityConfig = {
  privileged: false,
  supplementalGroups: [],
  readOnlyRootFilesystem: false,
  noNewPrivileges: false,
  addCapabilities: [],
  dropCapabilities: [],
  seccomp: "unconfined",
};

/** A pod with a sandbox and its containers. */
export class ContractPod {
  readonly machine: ContractMachine;
  node: NodeRuntime;
  readonly uid: string = randomUUID();
  readonly folder: string;
  sandboxId = "";
  #containers = 0;

  constructor(machine: ContractMachine, node: NodeRuntime) {
    this.machine = machine;
    this.node = node;
    this.folder = join(machine.folder, this.uid);
    mkdirSync(this.folder, { recursive: true });
  }

  async run(config: Partial<SandboxConfig> = {}): Promise<readonly string[]> {
    const { id, unsupported } = await this.node.service.runPodSandbox({
      namespace: "default",
      name: "pod",
      uid: this.uid,
      attempt: 0,
      hostname: "pod",
      labels: { app: "contract" },
      annotations: {},
      logDirectory: join(this.folder, "logs"),
      dns: undefined,
      ports: [],
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      shareProcessNamespace: false,
      sysctls: {},
      security: plainSecurity,
      resources: undefined,
      runtimeHandler: "",
      ...config,
    });
    this.sandboxId = id;
    return unsupported;
  }

  /** Creates a container that runs a script. Returns its ID and ignored fields. */
  async create(
    script: string,
    config: Partial<ContainerConfig> = {},
  ): Promise<{ id: string; unsupported: readonly string[]; logPath: string }> {
    const { image } = this.machine;
    const imageRef = (await this.node.images.imageStatus(image, true))?.ref;
    assert.ok(imageRef !== undefined, `the image ${image} is there`);
    const number = this.#containers++;
    const logPath = join(this.folder, "logs", `c${number}`, "0.log");
    const made = await this.node.service.createContainer(this.sandboxId, {
      name: `c${number}`,
      attempt: 0,
      hash: "hash",
      logPath,
      terminationLog: "",
      image,
      imageRef,
      command: ["sh", "-c", script],
      args: [],
      workingDir: undefined,
      env: [],
      mounts: [],
      devices: [],
      cdiDevices: [],
      annotations: {},
      security: plainSecurity,
      resources: {},
      stdin: false,
      stdinOnce: false,
      tty: false,
      ...config,
    });
    return { ...made, logPath };
  }

  async start(
    script: string,
    config: Partial<ContainerConfig> = {},
  ): Promise<{ id: string; unsupported: readonly string[]; logPath: string }> {
    const made = await this.create(script, config);
    await this.node.service.startContainer(made.id);
    return made;
  }

  /** Runs a script to its end. Returns its output, and the container. */
  async ended(script: string, config: Partial<ContainerConfig> = {}) {
    const { id, unsupported, logPath } = await this.start(script, config);
    const container = await this.exited(id);
    const lines = await collect(this.node.service.readLog(logPath));
    return { output: textOf(lines), container, unsupported };
  }

  async find(id: string): Promise<Container> {
    const all = await this.node.service.listContainers(this.uid);
    const container = all.find((each) => each.id === id);
    assert.ok(container !== undefined, `container ${id} is listed`);
    return container;
  }

  async exited(id: string): Promise<Container> {
    let container: Container | undefined;
    await eventuallyPasses(async () => {
      container = await this.find(id);
      assert.equal(container.state, "exited");
    });
    return container!;
  }

  async remove(): Promise<void> {
    if (this.sandboxId === "") return;
    await this.node.service.stopPodSandbox(this.sandboxId);
    await this.node.service.removePodSandbox(this.sandboxId);
  }
}

/** A runtime may keep more than the identity. */
export const sandboxIdentity = ({ namespace, name, uid, attempt }: SandboxIdentity): SandboxIdentity => ({
  namespace,
  name,
  uid,
  attempt,
});

export const containerIdentity = ({ name, attempt, hash, logPath, terminationLog }: ContainerIdentity) => ({
  name,
  attempt,
  hash,
  logPath,
  terminationLog,
});

/** All lines of a reader. */
export async function collect(blocks: AsyncIterable<readonly LogLine[]>): Promise<LogLine[]> {
  const all: LogLine[] = [];
  for await (const lines of blocks) for (const line of lines) all.push(line);
  return all;
}

export const textOf = (lines: readonly LogLine[]): string =>
  Buffer.concat(lines.map((line) => line.text)).toString("utf8");

export const noStreams = { stdin: undefined, stdout: undefined, stderr: undefined, resize: undefined };

export const never = new AbortController().signal;

/** Waits until the log contains these words. */
export async function untilPrinted(node: NodeRuntime, logPath: string, words: string): Promise<void> {
  await eventuallyPasses(async () => {
    const printed = textOf(await collect(node.service.readLog(logPath)));
    assert.ok(printed.includes(words), printed);
  });
}
