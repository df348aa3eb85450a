import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { makeFolderSync } from "@dray/files";
import type { MachineServices } from "../../services/machine-services.ts";
import { cdiEdits } from "../cdi-edits.ts";
import type { ContainerConfig, ResourceConfig, SandboxConfig } from "../config.ts";
import { checkRuntimeHandler, RuntimeError } from "../error.ts";
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
import { type ContainerDevice, containerDevices, neededAccess } from "./access.ts";
import { attachTo } from "./attach.ts";
import {
  applyBounds,
  boundsOf,
  cgroupOf,
  detectBounds,
  makePodBounds,
  noBounds,
  podCgroup,
  removeBounds,
  unboundedOf,
} from "./bounds.ts";
import { type Cgroups, detectCgroups, removeCgroup } from "./cgroups.ts";
import { HostContainer } from "./container.ts";
import { detectIsolation } from "./detect-isolation.ts";
import { runCommand } from "./exec.ts";
import { runWithStreams } from "./exec-streams.ts";
import { followLog } from "./follow-log.ts";
import { forwardPort } from "./forward.ts";
import type { Isolation } from "./isolation.ts";
import { joinContainer } from "./join.ts";
import { type Loader, launchContainer, saveRecord } from "./launch.ts";
import { limitsOf } from "./limits.ts";
import { firstFreePort } from "./loader/first-free-port.ts";
import { hintOf, limitOfContainer } from "./loader/hints.ts";
import { installLoader } from "./loader/library.ts";
import type { HostRuntimeOptions } from "./options.ts";
import {
  type AgentPrivileges,
  agentPrivileges,
  ownUser,
  type Privileges,
  planPrivileges,
} from "./privileges.ts";
import { type ContainerRecord, readRecord, writeRecord } from "./records.ts";
import { removeRoot } from "./root-write.ts";
import { HostSandboxes } from "./sandboxes.ts";
import { scripts } from "./scripts.ts";
import { containerStats } from "./stats.ts";
import { stopContainer } from "./stop.ts";
import { unsupportedOfContainer, unsupportedOfSandbox } from "./unsupported.ts";
import { ProcessUsage } from "./usage.ts";

/** Interval in milliseconds at which adopted containers are checked, in case their end went unnoticed. */
const checkInterval = 10_000;

/** Runs containers as processes of the host, each with the node's files mounted at the container's paths. */
export class HostRuntime implements RuntimeService {
  readonly name = "host";
  readonly version = "1";
  readonly checksMounts = true;
  readonly #options: HostRuntimeOptions;
  readonly #sandboxes: HostSandboxes;
  readonly #containers = new Map<string, HostContainer>();
  readonly #handlers = new Set<(podUid: string) => void>();
  #isolation: Isolation = { type: "plain" };
  #agent: AgentPrivileges = agentPrivileges(false);
  #cgroups: Cgroups | undefined;
  #loader: Loader | undefined;
  #bounds = noBounds;
  readonly #processUsage = new ProcessUsage();
  #cancelCheck: (() => void) | undefined;

  constructor(options: HostRuntimeOptions) {
    this.#options = options;
    this.#sandboxes = new HostSandboxes(options);
  }

  get limits(): readonly string[] {
    return limitsOf({
      agent: this.#agent,
      hasLoader: this.#loader !== undefined,
      boundsMemory: this.#bounds.parents.has("memory"),
      isContained: this.containment !== undefined,
      hasPidSpaces: this.hasPidSpaces,
    });
  }

  get writesResolvConf(): boolean {
    return this.#isolation.type === "mounts";
  }

  get machineServices(): MachineServices | undefined {
    return this.#options.machineServices;
  }

  /** How containers are isolated here; known after `start`. */
  get isolation(): Isolation["type"] {
    return this.#isolation.type;
  }

  /** Each pod has a host name of its own; known after `start`. */
  get namesHosts(): boolean {
    return this.#isolation.type === "mounts" && this.#isolation.uts;
  }

  /** Pods have pid name spaces of their own; known after `start`. */
  get hasPidSpaces(): boolean {
    return this.#isolation.type === "mounts" && this.#isolation.pids;
  }

  /** Mechanism that contains all processes of a container; undefined if some can outlive it. */
  get containment(): "cgroups" | "pid name spaces" | undefined {
    if (this.#cgroups !== undefined) return "cgroups";
    return this.hasPidSpaces ? "pid name spaces" : undefined;
  }

  async start(): Promise<void> {
    const { directory, rootDir, newId, log } = this.#options;
    makeFolderSync(join(directory, "containers"), 0o700);
    const reasons: string[] = [];
    const cgroups =
      this.#options.cgroups === "none" ? { reason: "cgroups are switched off" } : await detectCgroups(newId);
    if ("reason" in cgroups) reasons.push(cgroups.reason);
    else {
      this.#cgroups = cgroups;
      this.#bounds = detectBounds(newId);
    }
    if (this.#options.isolation !== "plain") {
      const { isolation, reason } = await detectIsolation(directory, rootDir);
      this.#isolation = isolation;
      if (reason !== undefined) reasons.push(reason);
      if (isolation.type === "plain")
        log.info({ reason }, "no mount name spaces: paths of volumes are rewritten instead");
    }
    this.#agent = agentPrivileges(this.#isolation.type === "mounts");
    const loader = await installLoader(directory);
    if ("path" in loader) this.#loader = { ...loader, firstFreePort: await firstFreePort() };
    else log.info(loader, "no loader library: programs of pods share ports and paths of the machine");
    if (this.containment === undefined)
      log.info(
        { reason: reasons.join("; ") },
        "neither cgroups nor pid name spaces: a process that leaves its session, its parent and its environment outlives its container",
      );
    // Renamed into place, so that shells that read scripts of an older agent go on.
    for (const [name, source] of scripts(this.#isolation)) writeRecord(join(directory, name), source);
    await this.#sandboxes.start();
    await this.#adopt();
    this.#scheduleCheck();
  }

  async #adopt(): Promise<void> {
    const { directory } = this.#options;
    for (const id of readdirSync(join(directory, "containers"))) {
      const record = readRecord<ContainerRecord>(join(directory, "containers", id), "container.json");
      if (record === undefined) {
        await removeRoot(join(directory, "containers", id));
        if (this.#cgroups !== undefined) removeCgroup(this.#cgroups.path(id));
        continue;
      }
      const container = this.#hold(record);
      container.watch();
      container.refresh();
    }
  }

  #hold(record: ContainerRecord): HostContainer {
    const directory = join(this.#options.directory, "containers", record.id);
    const changed = (): void => {
      const uid = this.#sandboxes.get(record.sandboxId)?.config.uid;
      if (uid !== undefined) for (const handler of this.#handlers) handler(uid);
    };
    const hint = (now: ContainerRecord): string | undefined =>
      hintOf(now, this.#sandboxes.get(now.sandboxId), this.#loader?.firstFreePort ?? 0);
    const container = new HostContainer(directory, record, this.#options.clock, { changed, hint });
    this.#containers.set(record.id, container);
    return container;
  }

  #scheduleCheck(): void {
    this.#cancelCheck = this.#options.clock.after(checkInterval, () => {
      for (const container of this.#containers.values()) container.refresh();
      this.#scheduleCheck();
    });
  }

  async close(): Promise<void> {
    this.#cancelCheck?.();
    for (const container of this.#containers.values()) container.release();
    this.#sandboxes.close();
    this.#handlers.clear();
  }

  onChange(handler: (podUid: string) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  get runsAsRoot(): boolean {
    return this.#agent.root && ownUser(this.#agent, "") === undefined;
  }

  userOfPod(podUid: string): number | undefined {
    return ownUser(this.#agent, podUid);
  }

  async runPodSandbox(config: SandboxConfig): Promise<Made> {
    checkRuntimeHandler(config.runtimeHandler, [""]);
    const id = await this.#sandboxes.run(config, this.#isolation);
    try {
      makePodBounds(this.#bounds, id);
      applyBounds(this.#bounds, podCgroup(id), config.resources ?? {});
    } catch (error) {
      await this.removePodSandbox(id);
      throw error;
    }
    return { id, unsupported: unsupportedOfSandbox(config, this.#isolation, this.#bounds) };
  }

  async stopPodSandbox(id: string): Promise<void> {
    if (this.#sandboxes.get(id)?.stopped !== undefined) return;
    await Promise.all(this.#of(id).map((container) => container.end()));
    removeBounds(boundsOf(this.#bounds, podCgroup(id)));
    this.#sandboxes.stop(id);
  }

  async removePodSandbox(id: string): Promise<void> {
    await this.stopPodSandbox(id);
    for (const container of this.#of(id)) await this.removeContainer(container.record.id);
    this.#sandboxes.remove(id);
  }

  #of(sandboxId: string): HostContainer[] {
    return [...this.#containers.values()].filter(({ record }) => record.sandboxId === sandboxId);
  }

  async listPodSandboxes(podUid?: string): Promise<readonly Sandbox[]> {
    return this.#sandboxes.list(podUid);
  }

  async createContainer(sandboxId: string, config: ContainerConfig): Promise<Made> {
    if (this.#sandboxes.get(sandboxId) === undefined)
      throw new RuntimeError("CreateContainerError", `no sandbox ${sandboxId}`);
    const edits = await cdiEdits(this.#options, config.cdiDevices);
    const { clock, newId } = this.#options;
    const id = newId();
    const isolated = this.#isolation.type === "mounts";
    const limit = isolated ? undefined : limitOfContainer(config, this.#options.images.find(config.image));
    const record = { id, sandboxId, config, edits, createdAt: clock.now(), ...(limit && { limit }) };
    const container = this.#hold(record);
    makeFolderSync(container.directory, 0o700);
    saveRecord(container);
    const devices = containerDevices(config, edits);
    const { unsupported } = this.#privileges(sandboxId, config, devices);
    return {
      id,
      unsupported: [
        ...unsupported,
        ...unboundedOf(this.#bounds, config.resources),
        ...unsupportedOfContainer(config, edits, devices, isolated),
      ],
      warnings: limit === undefined || limit.isFatal ? [] : [limit.text],
    };
  }

  #privileges(sandboxId: string, config: ContainerConfig, devices: readonly ContainerDevice[]): Privileges {
    const { needsRoot, groups } = neededAccess(config, devices, this.#options.podsDirectory);
    return planPrivileges({
      security: config.security,
      agent: this.#agent,
      podUid: this.#sandboxes.get(sandboxId)?.config.uid ?? "",
      needsRoot,
      imageUser: this.#options.images.find(config.image)?.user,
      deviceGroups: groups,
    });
  }

  #get(id: string): HostContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new RuntimeError("ContainerNotFound", `no container ${id}`);
    return container;
  }

  async startContainer(id: string): Promise<void> {
    const container = this.#get(id);
    const { sandboxId, config } = container.record;
    await launchContainer(container, {
      ...this.#options,
      sandbox: this.#sandboxes.get(sandboxId),
      target: this.#containers.get(config.target?.id ?? ""),
      isolation: this.#isolation,
      bounds: this.#bounds,
      cgroups: this.#cgroups,
      loader: this.#loader,
      privileges: (config, devices) => this.#privileges(sandboxId, config, devices),
    });
  }

  async stopContainer(id: string, graceMilliseconds: number): Promise<void> {
    const container = this.#containers.get(id);
    if (container !== undefined) await stopContainer(container, graceMilliseconds, this.#options.clock);
  }

  heedsTermination(id: string): boolean {
    return this.#containers.get(id)?.heedsTermination() ?? true;
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    await container.end();
    container.unwatch();
    this.#containers.delete(id);
    // The record is removed first: the next agent removes folders without one.
    rmSync(join(container.directory, "container.json"), { force: true });
    await removeRoot(container.directory);
  }

  async listContainers(podUid?: string): Promise<readonly Container[]> {
    return [...this.#containers.values()]
      .filter(
        ({ record }) => podUid === undefined || this.#sandboxes.get(record.sandboxId)?.config.uid === podUid,
      )
      .map((container) => container.status());
  }

  async updateContainerResources(id: string, resources: ResourceConfig): Promise<void> {
    const container = this.#get(id);
    const missing = unboundedOf(this.#bounds, resources);
    if (missing.length > 0)
      throw new RuntimeError(
        "UnsupportedOperation",
        `container ${id}: cannot be bound on this machine, whose cgroups lack the controllers: ${missing.join(", ")}`,
      );
    if (container.process === undefined)
      throw new RuntimeError("ContainerNotRunning", `container ${id} does not run`);
    applyBounds(this.#bounds, cgroupOf(container.record), resources);
    const { config } = container.record;
    const merged = { ...config.resources, ...resources };
    container.record = { ...container.record, config: { ...config, resources: merged } };
    saveRecord(container);
  }

  async updatePodSandboxResources(id: string, resources: ResourceConfig): Promise<void> {
    applyBounds(this.#bounds, podCgroup(id), resources);
  }

  async listContainerStats(): Promise<readonly ContainerStats[]> {
    const running = [...this.#containers.values()].filter(({ process }) => process !== undefined);
    return containerStats(running, this.#processUsage, this.#options.clock);
  }

  readLog(logPath: string, options?: ReadLogOptions): AsyncIterable<readonly LogLine[]> {
    const container = [...this.#containers.values()].find(({ record }) => record.config.logPath === logPath);
    return followLog(logPath, container, this.#options.clock, options);
  }

  /** The program keeps its log open, so the contents are copied. */
  async rotateContainerLog(id: string, to: string): Promise<void> {
    await this.#get(id).rotateLog(to);
  }

  async execSync(id: string, command: readonly string[], timeoutMilliseconds: number): Promise<ExecResult> {
    const joining = joinContainer(this.#get(id), this.#isolation, command, false);
    return runCommand(joining, timeoutMilliseconds, this.#options.clock);
  }

  async exec({ id, command, tty }: Command, streams: ClientStreams, signal: AbortSignal): Promise<number> {
    const container = this.#get(id);
    const joining = joinContainer(container, this.#isolation, command, tty);
    const { directory } = container;
    return runWithStreams({ id: this.#options.newId(), command: joining, tty, streams, directory, signal });
  }

  async attach(id: string, streams: ClientStreams, signal: AbortSignal): Promise<void> {
    return attachTo(this.#get(id), streams, signal);
  }

  async portForward(sandboxId: string, port: number, stream: Duplex): Promise<void> {
    const sandbox = this.#sandboxes.get(sandboxId);
    if (sandbox === undefined) throw new RuntimeError("SandboxNotFound", `no sandbox ${sandboxId}`);
    const pids = this.#of(sandboxId).flatMap((container) => container.processes());
    return forwardPort(sandbox.config.hostNetwork ? undefined : { ip: sandbox.ip, pids }, port, stream);
  }
}
