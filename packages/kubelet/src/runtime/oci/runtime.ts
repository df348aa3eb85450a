import { createHash } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { makeFolderSync, removeFolder } from "@dray/files";
import type { ContainerConfig, ResourceConfig, SandboxConfig } from "../config.ts";
import { checkRuntimeHandler, RuntimeError } from "../error.ts";
import { attachTo } from "../host/attach.ts";
import { runCommand } from "../host/exec.ts";
import { runWithStreams } from "../host/exec-streams.ts";
import { followLog } from "../host/follow-log.ts";
import { forwardPort } from "../host/forward.ts";
import { bootId } from "../host/processes.ts";
import { readRecord, writeRecord } from "../host/records.ts";
import type {
  ClientStreams,
  Command,
  Container,
  ContainerStats,
  ExecResult,
  LinuxSandbox,
  LogLine,
  Made,
  NodeNetworkService,
  PodNetworkService,
  ReadLogOptions,
  RuntimeService,
  Sandbox,
} from "../service.ts";
import { runningTarget } from "../target.ts";
import { makeBundle } from "./bundle.ts";
import { CgroupTree } from "./cgroups.ts";
import { OciContainer, type OciContainerRecord } from "./container.ts";
import { NamespaceConnections } from "./forward.ts";
import { launchContainer } from "./launch.ts";
import { machineFacts } from "./machine-facts.ts";
import { ownNetworksWork, PodNetwork } from "./network/network.ts";
import { makeNodeHostname, nodeSpaceOf, removeNodeHostname } from "./node-space.ts";
import type { OciRuntimeOptions, Started } from "./options.ts";
import { recordOciNode } from "./record.ts";
import { rotateLog } from "./rotate-log.ts";
import { Runc, type RuncExec } from "./runc.ts";
import { OciSandboxes } from "./sandboxes.ts";
import { holderName, holderScript, noteName, noteScript, wrapperName, wrapperScript } from "./scripts.ts";
import { shareFolder, unshareFolder } from "./shared-folder.ts";
import { ociResources } from "./spec.ts";
import { killContainer, type StopTools, stopContainer } from "./stop.ts";

/** Interval in milliseconds at which adopted containers are checked, in case their end went unnoticed. */
const checkInterval = 10_000;

/** Parent of all cgroups of the runtime with this folder, below the root of every hierarchy. */
export function cgroupOf(directory: string): string {
  return `/dray/${createHash("sha256").update(directory).digest("hex").slice(0, 12)}`;
}

/**
 * Runs containers with runc: all name spaces, root file systems of images, a network for each pod. Each
 * container has a shell around it that writes its output and exit code to files, so that nothing is lost
 * while no agent runs.
 */
export class OciRuntime implements RuntimeService {
  readonly name = "runc";
  readonly #options: OciRuntimeOptions;
  readonly #runc: Runc;
  readonly #containers = new Map<string, OciContainer>();
  readonly #handlers = new Set<(podUid: string) => void>();
  readonly #connections: NamespaceConnections;
  #started: Started | undefined;
  #cancelCheck: (() => void) | undefined;

  constructor(options: OciRuntimeOptions) {
    this.#options = options;
    this.#connections = new NamespaceConnections(options.clock);
    this.#runc = new Runc(join(options.directory, "runc"));
  }

  get version(): string {
    return this.#started?.version ?? "";
  }

  get recursiveReadOnly(): boolean {
    return this.#started?.recursiveReadOnly ?? false;
  }

  get limits(): readonly string[] {
    return this.#started?.network.limits ?? [];
  }

  get network(): PodNetworkService | undefined {
    const network = this.#started?.network;
    if (network === undefined) return undefined;
    return { podCidr: network.range, ...(network.limits.length === 0 && { services: network }) };
  }

  get nodeNetwork(): NodeNetworkService | undefined {
    const network = this.#started?.node.network;
    if (network === undefined) return undefined;
    return {
      listen: (port) => this.#connections.listen(network, { host: "0.0.0.0", port }),
      connect: (host, port) => this.#connections.connect(network, { host, port }),
    };
  }

  get #now(): Started {
    if (this.#started === undefined) throw new Error("the runtime has not been started");
    return this.#started;
  }

  get #tools(): StopTools {
    return { runc: this.#runc, cgroups: this.#now.cgroups, clock: this.#options.clock };
  }

  async start(): Promise<void> {
    const { directory, networkDirectory, nodeName, nodeAddress, hostNetwork, images, clock } = this.#options;
    if (process.getuid?.() !== 0)
      throw new Error("the runtime oci needs root: run the agent as root, or choose the runtime host");
    const { version, seccomp, recursiveReadOnly } = await this.#runc.facts();
    const cgroups = CgroupTree.find();
    makeFolderSync(join(directory, "containers"), 0o700);
    for (const [name, source] of [
      [wrapperName, wrapperScript],
      [noteName, noteScript],
      [holderName, holderScript],
    ] as const)
      writeRecord(join(directory, name), source);
    const { networkNamespaces, nodePath } = this.#options;
    recordOciNode(directory, {
      nodeName,
      networkDirectory,
      imagesDirectory: images.directory,
      hostNetwork,
      networkNamespaces,
    });
    const node = nodeSpaceOf(directory, hostNetwork === "node" && ownNetworksWork());
    const network = await PodNetwork.open({ directory: networkDirectory, nodeName, node: node.network });
    const cgroup = cgroupOf(directory);
    const sandboxes = new OciSandboxes({
      ...{ directory, networkNamespaces, nodePath, nodeName, cgroup, cgroups, network, node, clock },
      nodeAddress: network.nodeAddress ?? nodeAddress,
    });
    const machine = machineFacts(cgroups, seccomp);
    this.#started = { version, recursiveReadOnly, cgroup, cgroups, network, node, sandboxes, machine };
    try {
      // Containers before sandboxes: processes in a sandbox without a record would keep its name spaces.
      await shareFolder(networkNamespaces);
      await makeNodeHostname(node, nodeName);
      await this.#adopt();
      await sandboxes.start();
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#scheduleCheck();
  }

  async #adopt(): Promise<void> {
    const { directory } = this.#options;
    for (const id of readdirSync(join(directory, "containers"))) {
      const record = readRecord<OciContainerRecord>(join(directory, "containers", id), "container.json");
      if (record === undefined) {
        // Left by an agent that was killed while it made or removed it.
        await this.#runc.delete(id);
        await this.#options.images.snapshots.removeRoots(id);
        await removeFolder(join(directory, "containers", id));
        continue;
      }
      const container = this.#hold(record);
      container.watch();
      container.refresh();
      container.resume();
      await container.settled();
    }
  }

  #hold(record: OciContainerRecord): OciContainer {
    const directory = join(this.#options.directory, "containers", record.id);
    const changed = (): void => {
      const uid = this.#started?.sandboxes.get(record.sandboxId)?.config.uid;
      if (uid !== undefined) for (const handler of this.#handlers) handler(uid);
    };
    const container: OciContainer = new OciContainer(directory, record, {
      clock: this.#options.clock,
      changed,
      endRest: () => this.#endRest(container),
    });
    this.#containers.set(record.id, container);
    return container;
  }

  async #endRest(container: OciContainer): Promise<void> {
    const { id, bootId: boot } = container.record;
    if (boot !== bootId()) return;
    try {
      container.killRest();
      await this.#runc.delete(id);
    } catch (error) {
      this.#options.log.error({ container: id, error }, "a container whose shell was killed cannot be ended");
      throw error;
    }
  }

  #scheduleCheck(): void {
    this.#cancelCheck = this.#options.clock.after(checkInterval, () => {
      for (const container of this.#containers.values()) container.refresh();
      this.#scheduleCheck();
    });
  }

  async close(): Promise<void> {
    this.#cancelCheck?.();
    this.#connections.close();
    for (const container of this.#containers.values()) container.release();
    // Pods that run may have it mounted.
    if (this.#started?.sandboxes.list(undefined).length === 0)
      await unshareFolder(this.#options.networkNamespaces);
    this.#started?.network.close();
    this.#handlers.clear();
  }

  /** Ends and removes every pod and the node's part of the machine, for a node that is gone for good. */
  async destroy(): Promise<void> {
    const { sandboxes, network, node, cgroups, cgroup } = this.#now;
    for (const { id } of sandboxes.list(undefined)) await this.removePodSandbox(id);
    for (const id of [...this.#containers.keys()]) await this.removeContainer(id);
    await network.destroy();
    await removeNodeHostname(node);
    cgroups.remove(cgroup);
    cgroups.removeEmpty(dirname(cgroup));
    await this.close();
  }

  onChange(handler: (podUid: string) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  userOfPod(): undefined {}

  async runPodSandbox(config: SandboxConfig): Promise<Made> {
    checkRuntimeHandler(config.runtimeHandler, ["", "runc"]);
    const id = this.#options.newId();
    return { id, unsupported: await this.#now.sandboxes.run(id, config) };
  }

  async stopPodSandbox(id: string): Promise<void> {
    await Promise.all(this.#of(id).map((container) => killContainer(container, this.#tools)));
    await this.#now.sandboxes.stop(id);
  }

  async removePodSandbox(id: string): Promise<void> {
    await this.stopPodSandbox(id);
    for (const container of this.#of(id)) await this.removeContainer(container.record.id);
    await this.#now.sandboxes.remove(id);
  }

  linuxSandbox(id: string): LinuxSandbox | undefined {
    return this.#now.sandboxes.linux(id);
  }

  #of(sandboxId: string): OciContainer[] {
    return [...this.#containers.values()].filter(({ record }) => record.sandboxId === sandboxId);
  }

  async listPodSandboxes(podUid?: string): Promise<readonly Sandbox[]> {
    return this.#now.sandboxes.list(podUid);
  }

  async createContainer(sandboxId: string, config: ContainerConfig): Promise<Made> {
    const { target } = config;
    const joined = target && runningTarget(config, this.#containers.get(target.id)?.program);
    const place = { sandboxId, pidNamespace: joined && `/proc/${joined.pid}/ns/pid` };
    const { record, unsupported } = await makeBundle(this.#options, this.#now, place, config);
    this.#hold(record);
    return { id: record.id, unsupported };
  }

  #get(id: string): OciContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new RuntimeError("ContainerNotFound", `no container ${id}`);
    return container;
  }

  async startContainer(id: string): Promise<void> {
    await launchContainer(this.#get(id), this.#options.directory, this.#now, this.#runc);
  }

  async stopContainer(id: string, graceMilliseconds: number): Promise<void> {
    const container = this.#containers.get(id);
    if (container !== undefined) await stopContainer(container, graceMilliseconds, this.#tools);
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    await killContainer(container, this.#tools);
    await this.#runc.removeRest(id);
    container.unwatch();
    this.#containers.delete(id);
    // The record is removed first: the next agent removes folders without one.
    rmSync(join(container.directory, "container.json"), { force: true });
    await this.#options.images.snapshots.removeRoots(id);
    await removeFolder(container.directory);
  }

  async listContainers(podUid?: string): Promise<readonly Container[]> {
    return [...this.#containers.values()]
      .filter(
        ({ record }) =>
          podUid === undefined || this.#now.sandboxes.get(record.sandboxId)?.config.uid === podUid,
      )
      .map((container) => container.status());
  }

  async updateContainerResources(id: string, resources: ResourceConfig): Promise<void> {
    const container = this.#get(id);
    const { config } = container.record;
    if (!container.running)
      throw new RuntimeError("ContainerNotRunning", `container "${config.name}" does not run`);
    const { unified: _, ...wanted } = ociResources(resources, this.#now.machine);
    try {
      await this.#runc.update(id, wanted);
    } catch (error) {
      throw new RuntimeError(
        "UpdateContainerError",
        `cannot change the resources of container "${config.name}": ${(error as Error).message}`,
        { cause: error },
      );
    }
    const merged = { ...config, resources: { ...config.resources, ...resources } };
    container.record = { ...container.record, config: merged };
    writeRecord(join(container.directory, "container.json"), JSON.stringify(container.record));
  }

  async updatePodSandboxResources(id: string, resources: ResourceConfig): Promise<void> {
    this.#now.sandboxes.update(id, resources);
  }

  async listContainerStats(): Promise<readonly ContainerStats[]> {
    const at = this.#options.clock.now();
    return [...this.#containers.values()].flatMap(({ record, running }) => {
      const use = running ? this.#now.cgroups.use(record.cgroup) : undefined;
      return use === undefined ? [] : [{ containerId: record.id, at, ...use }];
    });
  }

  readLog(logPath: string, options?: ReadLogOptions): AsyncIterable<readonly LogLine[]> {
    const container = [...this.#containers.values()].find(({ record }) => record.config.logPath === logPath);
    return followLog(logPath, container, this.#options.clock, options);
  }

  async rotateContainerLog(id: string, to: string): Promise<void> {
    await rotateLog(this.#get(id), to, this.#options.clock);
  }

  async execSync(id: string, command: readonly string[], timeoutMilliseconds: number): Promise<ExecResult> {
    const exec = this.#exec(id, command, false);
    return exec.run(() => runCommand(exec.command, timeoutMilliseconds, this.#options.clock));
  }

  #exec(id: string, command: readonly string[], tty: boolean): RuncExec {
    const container = this.#get(id);
    container.refresh();
    if (!container.running)
      throw new RuntimeError(
        "ContainerNotRunning",
        `container "${container.record.config.name}" does not run`,
      );
    const { directory } = container;
    return this.#runc.exec({ execId: this.#options.newId(), directory, id, command, tty });
  }

  async exec({ id, command, tty }: Command, streams: ClientStreams, signal: AbortSignal): Promise<number> {
    const exec = this.#exec(id, command, tty);
    const { directory } = this.#get(id);
    const options = { id: this.#options.newId(), command: exec.command, tty, streams, directory, signal };
    return exec.run(() => runWithStreams(options));
  }

  async attach(id: string, streams: ClientStreams, signal: AbortSignal): Promise<void> {
    return attachTo(this.#get(id), streams, signal);
  }

  async portForward(sandboxId: string, port: number, stream: Duplex): Promise<void> {
    const { sandboxes } = this.#now;
    if (sandboxes.get(sandboxId) === undefined)
      throw new RuntimeError("SandboxNotFound", `no sandbox ${sandboxId}`);
    const { network } = sandboxes.namespaces(sandboxId);
    if (network === undefined) return forwardPort(undefined, port, stream);
    return this.#connections.forward(network, port, stream);
  }
}
