// biome-ignore lint/style/noRestrictedImports: a log is moved away, nothing is written
import { rename } from "node:fs/promises";
import { dirname } from "node:path";
import type { Duplex } from "node:stream";
import type { Clock } from "@dray/client";
import { makeFolder } from "@dray/files";

import {
  type ContainerStatus,
  type Container as CriContainer,
  ContainerState as CriContainerState,
  type PodSandboxConfig,
} from "@dray/rpc/cri/v1";
import type { ContainerConfig, ResourceConfig, SandboxConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import type { ImageService } from "../images.ts";
import type {
  ClientStreams,
  Command,
  Container,
  ContainerStats,
  ExecResult,
  LogLine,
  Made,
  ReadLogOptions,
  RuntimeService,
  Sandbox,
} from "../service.ts";
import { cgroupDriver } from "./cgroup-driver.ts";
import { hasCgroup2, podCgroup } from "./cgroups.ts";
import { Changes } from "./changes.ts";
import { attach, exec, execSync } from "./commands.ts";
import { type RuntimeCondition, runtimeProblems } from "./conditions.ts";
import { type CriConnection, connectCri, requestTimeout } from "./connection.ts";
import { found, runtimeError } from "./errors.ts";
import { CriImages } from "./images.ts";
import { containerExtra, containerIdentity, keptSandboxConfig, podUidOf, selectorOf } from "./labels.ts";
import { followLog } from "./log-follower.ts";
import { observedContainer, observedSandbox, observedStats } from "./observed.ts";
import type { CriRuntimeOptions } from "./options.ts";
import { containerRequest, type RequestContext, sandboxRequest } from "./requests.ts";
import { criResources } from "./resources.ts";
import { forwardPort } from "./streaming.ts";

/** Timeout of making or stopping a sandbox with its network, in milliseconds. */
const sandboxTimeout = 2 * requestTimeout;

/**
 * Runs containers in a runtime that speaks CRI v1: containerd, CRI-O. All state is in the runtime; what has
 * no field in CRI is in labels and annotations.
 */
export class CriRuntime implements RuntimeService {
  readonly images: ImageService;
  /** The runtime isolates containers, and refuses what it does not support. */
  readonly limits: readonly string[] = [];
  readonly isolatesNetwork = true;
  readonly #options: CriRuntimeOptions;
  readonly #clock: Clock;
  readonly #handlers = new Set<(podUid: string) => void>();
  /** Statuses of exited containers by ID, which never change. */
  readonly #ended = new Map<string, ContainerStatus>();
  /** By ID of the sandbox; also in its annotations. */
  readonly #sandboxConfigs = new Map<string, PodSandboxConfig>();
  #connection: CriConnection | undefined;
  #changes: Changes | undefined;
  #context: RequestContext | undefined;

  constructor(options: CriRuntimeOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.images = new CriImages(() => this.#connected);
  }

  get name(): string {
    return this.#connected.name;
  }

  get version(): string {
    return this.#connected.version;
  }

  /** Rejects with what is missing: the socket, a response, CRI v1, or what the runtime itself lacks. */
  async start(): Promise<void> {
    const { endpoint, node, log, cgroupRoot = "", connectTimeout = 10_000 } = this.#options;
    const { seccompRoot = "/var/lib/kubelet/seccomp" } = this.#options;
    const connection = await connectCri(endpoint, connectTimeout);
    this.#connection = connection;
    try {
      const conditions = await this.conditions();
      const ready = conditions.find(({ type }) => type === "RuntimeReady");
      if (ready?.status !== true) {
        const why = ready === undefined ? "it does not say RuntimeReady" : `${ready.reason} ${ready.message}`;
        throw new RuntimeError("RuntimeUnavailable", `container runtime ${endpoint} is not ready: ${why}`);
      }
      const driver = await cgroupDriver(connection);
      this.#context = {
        node,
        cgroup2: hasCgroup2(),
        seccompRoot,
        cgroupParent: (uid) => podCgroup(cgroupRoot, driver, uid),
      };
      const changes = new Changes({
        connection,
        node,
        log,
        clock: this.#clock,
        changed: (podUid) => {
          for (const handler of this.#handlers) handler(podUid);
        },
        removed: (id) => {
          this.#ended.delete(id);
          this.#sandboxConfigs.delete(id);
        },
      });
      await changes.start();
      this.#changes = changes;
    } catch (error) {
      await this.close();
      throw runtimeError("RuntimeUnavailable", error);
    }
  }

  async close(): Promise<void> {
    await this.#changes?.close();
    this.#connection?.close();
    this.#changes = undefined;
    this.#connection = undefined;
  }

  /** Conditions of the runtime: RuntimeReady, NetworkReady, and others of its own. */
  async conditions(): Promise<readonly RuntimeCondition[]> {
    return this.#try("RuntimeUnavailable", async ({ runtime }) => {
      const { status } = await runtime.status({}, { timeout: requestTimeout });
      return status?.conditions ?? [];
    });
  }

  /** Upstream: pkg/kubelet/kubelet.go, updateRuntimeUp. */
  async problems(): Promise<readonly string[]> {
    return runtimeProblems(await this.conditions());
  }

  userOfPod(): undefined {}

  async runPodSandbox(config: SandboxConfig): Promise<Made> {
    return this.#try("FailedCreatePodSandBox", async ({ runtime }) => {
      const request = sandboxRequest(config, this.#started);
      await makeFolder(config.logDirectory, 0o755);
      const { podSandboxId: id } = await runtime.runPodSandbox(
        { config: request.config, runtimeHandler: config.runtimeHandler },
        { timeout: sandboxTimeout },
      );
      this.#sandboxConfigs.set(id, request.config);
      return { id, unsupported: request.unsupported };
    });
  }

  async stopPodSandbox(id: string): Promise<void> {
    await this.#try("FailedKillPod", ({ runtime }) =>
      found(runtime.stopPodSandbox({ podSandboxId: id }, { timeout: sandboxTimeout })),
    );
  }

  async removePodSandbox(id: string): Promise<void> {
    await this.#try("FailedKillPod", ({ runtime }) =>
      found(runtime.removePodSandbox({ podSandboxId: id }, { timeout: sandboxTimeout })),
    );
    this.#sandboxConfigs.delete(id);
  }

  async listPodSandboxes(podUid?: string): Promise<readonly Sandbox[]> {
    return this.#try("RuntimeUnavailable", async ({ runtime }) => {
      const labelSelector = selectorOf(this.#started.node, podUid);
      const options = { timeout: requestTimeout };
      const filter = { id: "", state: undefined, labelSelector };
      const { items } = await runtime.listPodSandbox({ filter }, options);
      const statuses = items.map(({ id }) => found(runtime.podSandboxStatus({ podSandboxId: id }, options)));
      const answers = await Promise.all(statuses);
      // A sandbox may be removed between the list and its status.
      return items.flatMap((item, index) => {
        const status = answers[index]?.status;
        return status === undefined ? [] : [observedSandbox(item, status)];
      });
    });
  }

  async createContainer(sandboxId: string, config: ContainerConfig): Promise<Made> {
    return this.#try("CreateContainerError", async ({ runtime }) => {
      const sandbox = await this.#sandboxConfig(sandboxId);
      const request = containerRequest(config, sandbox, this.#started);
      await makeFolder(dirname(config.logPath), 0o755);
      const { containerId: id } = await runtime.createContainer(
        { podSandboxId: sandboxId, config: request.config, sandboxConfig: sandbox },
        { timeout: requestTimeout },
      );
      return { id, unsupported: request.unsupported };
    });
  }

  async startContainer(id: string): Promise<void> {
    await this.#try("RunContainerError", ({ runtime }) =>
      runtime.startContainer({ containerId: id }, { timeout: requestTimeout }),
    );
  }

  async stopContainer(id: string, graceMilliseconds: number): Promise<void> {
    await this.#try("KillContainerError", ({ runtime }) =>
      found(
        runtime.stopContainer(
          { containerId: id, timeout: BigInt(Math.ceil(graceMilliseconds / 1000)) },
          { timeout: graceMilliseconds + requestTimeout },
        ),
      ),
    );
  }

  async removeContainer(id: string): Promise<void> {
    await this.#try("RemoveContainerError", ({ runtime }) =>
      found(runtime.removeContainer({ containerId: id }, { timeout: requestTimeout })),
    );
    this.#ended.delete(id);
  }

  async listContainers(podUid?: string): Promise<readonly Container[]> {
    return this.#try("RuntimeUnavailable", async () => {
      const listed = await this.#listed(podUid);
      const statuses = await Promise.all(listed.map((container) => this.#status(container)));
      return listed.flatMap((container, index) => {
        const status = statuses[index];
        return status === undefined ? [] : [observedContainer(container, status)];
      });
    });
  }

  async updateContainerResources(id: string, resources: ResourceConfig): Promise<void> {
    await this.#try("UpdateContainerError", ({ runtime }) =>
      runtime.updateContainerResources(
        { containerId: id, linux: criResources(resources, this.#started.cgroup2), annotations: {} },
        { timeout: requestTimeout },
      ),
    );
  }

  /** Best effort, as upstream: runtimes before CRI of Kubernetes 1.32 do not have the method. */
  async updatePodSandboxResources(id: string, resources: ResourceConfig): Promise<void> {
    const linux = criResources(resources, this.#started.cgroup2);
    const sent = { podSandboxId: id, resources: linux, overhead: undefined };
    try {
      await this.#try("UpdatePodSandboxError", ({ runtime }) =>
        runtime.updatePodSandboxResources(sent, { timeout: requestTimeout }),
      );
    } catch (error) {
      this.#options.log.debug({ sandbox: id, err: error }, "the runtime does not take bounds of a pod");
    }
  }

  async listContainerStats(): Promise<readonly ContainerStats[]> {
    return this.#try("RuntimeUnavailable", async ({ runtime }) => {
      const labelSelector = selectorOf(this.#started.node, undefined);
      const { stats } = await runtime.listContainerStats(
        { filter: { id: "", podSandboxId: "", labelSelector } },
        { timeout: requestTimeout },
      );
      return stats.map(observedStats).filter((each) => each !== undefined);
    });
  }

  async execSync(id: string, command: readonly string[], timeoutMilliseconds: number): Promise<ExecResult> {
    return this.#try("ExecError", (connection) => execSync(connection, id, command, timeoutMilliseconds));
  }

  async exec(command: Command, streams: ClientStreams, signal: AbortSignal): Promise<number> {
    return this.#try("ExecError", (connection) => exec(connection, command, streams, signal));
  }

  async attach(id: string, streams: ClientStreams, signal: AbortSignal): Promise<void> {
    await this.#try("AttachError", (connection) => attach(connection, id, streams, signal));
  }

  async portForward(sandboxId: string, port: number, stream: Duplex): Promise<void> {
    await this.#try("PortForwardError", async ({ runtime }) => {
      const request = { podSandboxId: sandboxId, port: [port] };
      const { url } = await runtime.portForward(request, { timeout: requestTimeout });
      await forwardPort(url, port, stream);
    });
  }

  async *readLog(logPath: string, options: ReadLogOptions = {}): AsyncIterable<readonly LogLine[]> {
    let container: CriContainer | undefined;
    const ended = async (): Promise<boolean> => {
      container ??= (await this.#listed(undefined)).find(
        ({ labels, annotations }) => containerIdentity(labels, annotations).logPath === logPath,
      );
      if (container === undefined) return true;
      const status = await this.#status(container);
      return status === undefined || hasEnded(status);
    };
    yield* followLog({ path: logPath, clock: this.#clock, ended, ...options });
  }

  async rotateContainerLog(id: string, to: string): Promise<void> {
    await this.#try("RotateLogError", async ({ runtime }) => {
      const { status } = await runtime.containerStatus({ containerId: id }, { timeout: requestTimeout });
      const { logPath } = containerExtra(status?.annotations ?? {});
      await rename(logPath, to);
      try {
        // The runtime writes to the moved file until then.
        await runtime.reopenContainerLog({ containerId: id }, { timeout: requestTimeout });
      } catch (error) {
        // Restores the file for the runtime and for readers; its path is unused.
        await rename(to, logPath);
        throw error;
      }
    });
  }

  onChange(handler: (podUid: string) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  get #connected(): CriConnection {
    if (this.#connection !== undefined) return this.#connection;
    throw new RuntimeError(
      "RuntimeUnavailable",
      `container runtime ${this.#options.endpoint}: not connected`,
    );
  }

  get #started(): RequestContext {
    if (this.#context !== undefined) return this.#context;
    throw new RuntimeError("RuntimeUnavailable", `container runtime ${this.#options.endpoint}: not started`);
  }

  async #try<T>(reason: string, run: (connection: CriConnection) => Promise<T>): Promise<T> {
    try {
      return await run(this.#connected);
    } catch (error) {
      throw runtimeError(reason, error);
    }
  }

  async #listed(podUid: string | undefined): Promise<readonly CriContainer[]> {
    const labelSelector = selectorOf(this.#started.node, podUid);
    const { containers } = await this.#connected.runtime.listContainers(
      { filter: { id: "", state: undefined, podSandboxId: "", labelSelector } },
      { timeout: requestTimeout },
    );
    return containers;
  }

  /** Undefined if the container is gone. */
  async #status({ id }: CriContainer): Promise<ContainerStatus | undefined> {
    const known = this.#ended.get(id);
    if (known !== undefined) return known;
    const call = this.#connected.runtime.containerStatus({ containerId: id }, { timeout: requestTimeout });
    const status = (await found(call))?.status;
    if (status?.state === CriContainerState.CONTAINER_EXITED) this.#ended.set(id, status);
    return status;
  }

  /** Configuration with which the sandbox was made. */
  async #sandboxConfig(id: string): Promise<PodSandboxConfig> {
    const known = this.#sandboxConfigs.get(id);
    if (known !== undefined) return known;
    const { status } = await this.#connected.runtime.podSandboxStatus(
      { podSandboxId: id },
      { timeout: requestTimeout },
    );
    const kept = keptSandboxConfig(status?.annotations ?? {});
    if (status === undefined || kept === undefined) {
      throw new RuntimeError(
        "CreateContainerError",
        `sandbox ${id} of pod ${podUidOf(status?.labels ?? {})} was not made by this agent`,
      );
    }
    this.#sandboxConfigs.set(id, kept);
    return kept;
  }
}

function hasEnded({ state }: ContainerStatus): boolean {
  return state === CriContainerState.CONTAINER_EXITED || state === CriContainerState.CONTAINER_UNKNOWN;
}
