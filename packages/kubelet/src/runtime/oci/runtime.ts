import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { type CdiRegistry, type ContainerEdits, hostDevice } from "@dray/cdi";
import type { Clock, Log } from "@dray/client";
import { makeFolderSync, readRegularFile } from "@dray/files";
import type { ContainerConfig, DeviceConfig, MountConfig, ResourceConfig, SandboxConfig } from "../config.ts";
import { checkRuntimeHandler, RuntimeError } from "../error.ts";
import { attachTo, makeInput } from "../host/attach.ts";
import { toolEnvironment } from "../host/environment.ts";
import { runCommand } from "../host/exec.ts";
import { runWithStreams } from "../host/exec-streams.ts";
import { followLog } from "../host/follow-log.ts";
import { forwardPort } from "../host/forward.ts";
import { bootId, processStat, signal } from "../host/processes.ts";
import { readRecord, writeRecord } from "../host/records.ts";
import { terminalName } from "../host/scripts.ts";
import { inTerminal, shellLine } from "../host/terminal.ts";
import type {
  ClientStreams,
  Container,
  ContainerStats,
  ExecResult,
  LogLine,
  Made,
  PodNetworkService,
  RuntimeService,
  Sandbox,
} from "../service.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { CgroupTree } from "./cgroups.ts";
import { OciContainer, type OciContainerRecord } from "./container.ts";
import { PodConnections } from "./forward.ts";
import { readInRoot, resolveInRoot } from "./images/in-root.ts";
import type { OciImages } from "./images/service.ts";
import { moveInterface } from "./network/devices.ts";
import { PodNetwork } from "./network/network.ts";
import { recordOciNode } from "./record.ts";
import { Runc, type RuncExec } from "./runc.ts";
import { OciSandboxes } from "./sandboxes.ts";
import {
  holderName,
  holderScript,
  noteName,
  noteScript,
  traceNames,
  wrapperName,
  wrapperScript,
} from "./scripts.ts";
import type { SeccompProfile } from "./seccomp.ts";
import { containerSpec, type MachineFacts, type OciSpec, ociResources, type SpecDevice } from "./spec.ts";
import { resolveUser } from "./users.ts";

export interface OciRuntimeOptions {
  /** Where the runtime of this node keeps its records. */
  readonly directory: string;
  /** What all nodes of the cluster on this machine share for their network. */
  readonly networkDirectory: string;
  readonly nodeName: string;
  /** Of pods with the machine's network. */
  readonly nodeAddress: string;
  /** Opened and closed by the caller; nodes may share them. */
  readonly images: OciImages;
  readonly cdi: CdiRegistry;
  /** The place on this machine of a path that the node's drivers name. */
  hostPath(path: string): string;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often containers that another agent started are looked for, should their end go unnoticed. */
const checkMilliseconds = 10_000;
/** How long runc may take to kill, before more is done. */
const killMilliseconds = 2000;
const maxUserFileBytes = 8 << 20;
const maxProfileBytes = 4 << 20;

/**
 * Runs containers with runc: all name spaces, root file systems of images, a network for each pod. Each container has a
 * shell around it that writes its output and exit code to files, so that nothing is lost while no agent runs.
 */
export class OciRuntime implements RuntimeService {
  readonly name = "runc";
  readonly #options: OciRuntimeOptions;
  readonly #runc: Runc;
  readonly #containers = new Map<string, OciContainer>();
  readonly #handlers = new Set<(podUid: string) => void>();
  readonly #connections: PodConnections;
  #started: Started | undefined;
  #cancelCheck: (() => void) | undefined;

  constructor(options: OciRuntimeOptions) {
    this.#options = options;
    this.#connections = new PodConnections(options.clock);
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

  get #now(): Started {
    if (this.#started === undefined) throw new Error("the runtime has not been started");
    return this.#started;
  }

  async start(): Promise<void> {
    const { directory, networkDirectory, nodeName, nodeAddress, images, clock } = this.#options;
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
    recordOciNode(directory, { nodeName, networkDirectory, imagesDirectory: images.directory });
    const network = await PodNetwork.open({ directory: networkDirectory, nodeName });
    const cgroup = `/dray/${createHash("sha256").update(directory).digest("hex").slice(0, 12)}`;
    const sandboxes = new OciSandboxes({ directory, nodeAddress, cgroup, cgroups, network, clock });
    const machine = machineFacts(cgroups, seccomp);
    this.#started = { version, recursiveReadOnly, cgroup, cgroups, network, sandboxes, machine };
    try {
      // Containers first: what still runs in a sandbox without a record would keep its name spaces.
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
        // What a killed agent had just begun, or had almost removed.
        await this.#runc.delete(id);
        await this.#options.images.snapshots.removeRoots(id);
        await rm(join(directory, "containers", id), { recursive: true, force: true });
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
    this.#cancelCheck = this.#options.clock.after(checkMilliseconds, () => {
      for (const container of this.#containers.values()) container.refresh();
      this.#scheduleCheck();
    });
  }

  async close(): Promise<void> {
    this.#cancelCheck?.();
    this.#connections.close();
    for (const container of this.#containers.values()) container.release();
    this.#started?.network.close();
    this.#handlers.clear();
  }

  /** Ends and removes every pod and what the node has on this machine: for a node that goes for good. */
  async destroy(): Promise<void> {
    const { sandboxes, network, cgroups, cgroup } = this.#now;
    for (const { id } of sandboxes.list(undefined)) await this.removePodSandbox(id);
    for (const id of [...this.#containers.keys()]) await this.removeContainer(id);
    await network.destroy();
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
    const id = randomUUID();
    return { id, unsupported: await this.#now.sandboxes.run(id, config) };
  }

  async stopPodSandbox(id: string): Promise<void> {
    await Promise.all(this.#of(id).map((container) => this.#kill(container)));
    await this.#now.sandboxes.stop(id);
  }

  async removePodSandbox(id: string): Promise<void> {
    await this.stopPodSandbox(id);
    for (const container of this.#of(id)) await this.removeContainer(container.record.id);
    await this.#now.sandboxes.remove(id);
  }

  #of(sandboxId: string): OciContainer[] {
    return [...this.#containers.values()].filter(({ record }) => record.sandboxId === sandboxId);
  }

  async listPodSandboxes(podUid?: string): Promise<readonly Sandbox[]> {
    return this.#now.sandboxes.list(podUid);
  }

  async createContainer(sandboxId: string, config: ContainerConfig): Promise<Made> {
    const { sandboxes, machine } = this.#now;
    const sandbox = sandboxes.get(sandboxId);
    if (sandbox === undefined || sandbox.stopped)
      throw new RuntimeError("CreateContainerError", `sandbox ${sandboxId} does not run`);
    const edits = await this.#cdi(config.cdiDevices);
    const image = await this.#options.images.resolve(config.imageRef || config.image);
    const id = randomUUID();
    const directory = join(this.#options.directory, "containers", id);
    makeFolderSync(directory, 0o700);
    try {
      const root = await this.#options.images.snapshots.makeRoot(id, directory, image);
      const mounts = await this.#mounts(id, directory, config);
      const [passwd = "", group = ""] = await Promise.all(
        ["/etc/passwd", "/etc/group"].map((path) => readInRoot(root, path, maxUserFileBytes)),
      );
      const cgroup = `${sandbox.cgroup}/${id}`;
      const { spec, unsupported } = containerSpec({
        sandbox: sandbox.config,
        container: { ...config, mounts },
        image: image.config,
        user: resolveUser(config.security, image.config.user, { passwd, group }),
        root,
        namespaces: sandboxes.namespaces(sandboxId),
        podMounts: sandboxes.mounts(sandboxId),
        devices: devicesOf(config),
        seccomp: await seccompProfile(config),
        edits,
        cgroupsPath: cgroup,
        machine,
        lookUpDevice: hostDevice,
      });
      // What is mounted and is not there is a folder. Upstream: containerd, WithMounts.
      for (const { hostPath } of mounts) if (!existsSync(hostPath)) makeFolderSync(hostPath);
      writeFileSync(join(directory, "config.json"), JSON.stringify(spec), { mode: 0o600 });
      const { stopSignal } = image.config;
      const { uid, gid, additionalGids } = spec.process.user;
      const user = { uid, gid, groups: additionalGids };
      const record = {
        id,
        sandboxId,
        config,
        createdAt: this.#options.clock.now(),
        stopSignal,
        user,
        cgroup,
      };
      writeRecord(join(directory, "container.json"), JSON.stringify(record));
      this.#hold(record);
      return { id, unsupported };
    } catch (error) {
      await this.#options.images.snapshots.removeRoots(id);
      await rm(directory, { recursive: true, force: true });
      if (error instanceof RuntimeError) throw error;
      throw new RuntimeError(
        "CreateContainerError",
        `failed to create container "${config.name}": ${(error as Error).message}`,
        { cause: error },
      );
    }
  }

  /** Has the files of images that are mounted at a place on this machine. */
  async #mounts(id: string, directory: string, config: ContainerConfig): Promise<MountConfig[]> {
    const mounts: MountConfig[] = [];
    // One after the other: nothing of them is still being made when one fails and all are removed.
    for (const [index, mount] of config.mounts.entries()) {
      mounts.push(
        mount.image === undefined
          ? mount
          : { ...mount, hostPath: await this.#imageFolder(`${id}.${index}`, directory, mount.image) },
      );
    }
    return mounts;
  }

  async #imageFolder(
    id: string,
    directory: string,
    { ref, name, subPath }: NonNullable<MountConfig["image"]>,
  ): Promise<string> {
    const { images } = this.#options;
    const root = await images.snapshots.makeRoot(id, directory, await images.resolve(ref || name));
    const hostPath = await resolveInRoot(root, subPath);
    if (existsSync(hostPath)) return hostPath;
    throw new RuntimeError(
      "CreateContainerError",
      `subPath ${JSON.stringify(subPath)} does not exist in the image ${JSON.stringify(name)}`,
    );
  }

  async #cdi(names: readonly string[]): Promise<ContainerEdits> {
    if (names.length === 0) return {};
    try {
      const edits = await this.#options.cdi.resolve(names);
      const mounts = edits.mounts.map((mount) => ({
        ...mount,
        hostPath: this.#options.hostPath(mount.hostPath),
      }));
      return { ...edits, mounts };
    } catch (error) {
      throw new RuntimeError(
        "CreateContainerError",
        `failed to inject CDI devices: ${(error as Error).message}`,
        { cause: error },
      );
    }
  }

  #get(id: string): OciContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new RuntimeError("ContainerNotFound", `no container ${id}`);
    return container;
  }

  async startContainer(id: string): Promise<void> {
    const container = this.#get(id);
    const { directory, record } = container;
    const { config } = record;
    if (container.launched)
      throw new RuntimeError("RunContainerError", `container "${config.name}" has been started before`);
    await this.#moveInterfaces(container);
    makeFolderSync(dirname(config.logPath));
    writeFileSync(config.logPath, "", { flag: "a" });
    const logSize = statSync(config.logPath).size;
    const runc = this.#runc.words(directory);
    if (config.stdin || config.tty) await makeInput(directory, undefined);
    if (config.tty) {
      const note = ["/bin/sh", join(this.#options.directory, noteName), join(directory, traceNames.runner)];
      const run = ["run", "--keep", "--bundle", directory, "--pid-file", join(directory, traceNames.pid), id];
      const line = shellLine(inTerminal([...note, ...runc, ...run]));
      writeFileSync(join(directory, terminalName), `exec ${line}\n`, { mode: 0o600 });
    }
    container.record = { ...record, bootId: bootId() };
    writeRecord(join(directory, "container.json"), JSON.stringify(container.record));
    container.watch();
    const wrapper = join(this.#options.directory, wrapperName);
    const oom = this.#now.cgroups.oomFile(record.cgroup);
    const child = spawn("/bin/sh", [wrapper, directory, config.logPath, oom, id, ...runc], {
      cwd: "/",
      env: toolEnvironment,
      detached: true,
      stdio: "ignore",
    });
    const failed = new Promise<never>((_, reject) => {
      child.once("error", (error) => {
        container.refresh(true);
        reject(new RuntimeError("RunContainerError", `cannot start a shell: ${error.message}`));
      });
    });
    child.once("exit", () => container.refresh(true));
    await Promise.race([container.started(), failed]);
    child.unref();
    const status = container.status();
    if (status.reason !== "StartError") return;
    // The program has printed nothing: the words there are those of runc.
    truncateSync(config.logPath, logSize);
    throw new RuntimeError("RunContainerError", status.message ?? "the container could not be started");
  }

  /** runc of this day leaves the interfaces of CDI devices alone. */
  async #moveInterfaces({ directory, record }: OciContainer): Promise<void> {
    const path = join(directory, "config.json");
    const spec = JSON.parse(readFileSync(path, "utf8")) as OciSpec;
    const { netDevices, ...linux } = spec.linux;
    const wanted = Object.entries(netDevices ?? {});
    if (wanted.length === 0) return;
    const { network } = this.#now.sandboxes.namespaces(record.sandboxId);
    try {
      for (const [name, { name: newName }] of wanted) {
        if (network === undefined)
          throw new Error(
            `the interface ${name} of a CDI device cannot be given to a pod with the machine's network`,
          );
        await moveInterface(name, network, newName || name);
      }
    } catch (error) {
      throw new RuntimeError(
        "RunContainerError",
        `container "${record.config.name}": ${(error as Error).message}`,
        {
          cause: error,
        },
      );
    }
    writeFileSync(path, JSON.stringify({ ...spec, linux }), { mode: 0o600 });
  }

  async stopContainer(id: string, graceMilliseconds: number): Promise<void> {
    const container = this.#containers.get(id);
    if (container === undefined || !container.launched) return;
    container.refresh();
    if (!container.exited && graceMilliseconds > 0) {
      await this.#runc.kill(id, signalName(container.record.stopSignal));
      await this.#endedWithin(container, graceMilliseconds);
    }
    await this.#kill(container);
  }

  async #endedWithin(container: OciContainer, milliseconds: number): Promise<void> {
    let cancel = (): void => {};
    const expired = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(milliseconds, resolve);
    });
    await Promise.race([container.ended(), expired]);
    cancel();
    container.refresh();
  }

  /** Ends everything of a container; resolves when nothing is left. */
  async #kill(container: OciContainer): Promise<void> {
    const { id } = container.record;
    if (!container.launched || container.done) return;
    if (container.record.bootId !== bootId()) return container.noteDone();
    container.refresh();
    if (container.running) {
      await this.#runc.kill(id, "KILL");
      await this.#endedWithin(container, killMilliseconds);
    }
    // Also what its shell was killed before: that has ended without removing the rest.
    while (!container.exited && !container.released) {
      await this.#runc.delete(id);
      await this.#endedWithin(container, killMilliseconds);
    }
    if (container.released) return;
    this.#now.cgroups.remove(container.record.cgroup);
    container.noteDone();
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    await this.#kill(container);
    this.#runc.removeRest(id);
    container.unwatch();
    this.#containers.delete(id);
    // The record goes first: what is left without one is removed by whoever comes next.
    rmSync(join(container.directory, "container.json"), { force: true });
    await this.#options.images.snapshots.removeRoots(id);
    await rm(container.directory, { recursive: true, force: true });
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

  readLog(logPath: string, follow: AbortSignal | undefined): AsyncIterable<LogLine> {
    const container = [...this.#containers.values()].find(({ record }) => record.config.logPath === logPath);
    return followLog(logPath, container, follow, this.#options.clock);
  }

  /** What copies the output to the log is stopped meanwhile: the container waits, and nothing is lost. */
  async rotateContainerLog(id: string, to: string): Promise<void> {
    const container = this.#get(id);
    const { tty } = container.record.config;
    const { process } = container;
    // With a terminal, the program that makes it writes the log.
    const pid = process === undefined || !tty ? process?.pid : processStat(process.pid)?.parent;
    if (pid !== undefined) {
      signal(pid, "SIGSTOP");
      while (!["T", "t", "Z", "X", undefined].includes(processStat(pid)?.state))
        await new Promise((resolve) => setImmediate(resolve));
    }
    try {
      container.rotateLog(to);
    } finally {
      if (pid !== undefined) signal(pid, "SIGCONT");
    }
  }

  async execSync(id: string, command: readonly string[], timeoutMilliseconds: number): Promise<ExecResult> {
    const exec = this.#exec(id, command, false);
    try {
      const result = await runCommand(exec.command, timeoutMilliseconds, this.#options.clock);
      exec.check();
      return result;
    } catch (error) {
      exec.kill();
      throw error;
    } finally {
      exec.clean();
    }
  }

  #exec(id: string, command: readonly string[], tty: boolean): RuncExec {
    const container = this.#get(id);
    container.refresh();
    if (!container.running)
      throw new RuntimeError(
        "ContainerNotRunning",
        `container "${container.record.config.name}" does not run`,
      );
    return this.#runc.exec(container.directory, id, command, tty);
  }

  async exec(
    id: string,
    command: readonly string[],
    tty: boolean,
    streams: ClientStreams,
    signal: AbortSignal,
  ): Promise<number> {
    const exec = this.#exec(id, command, tty);
    try {
      const code = await runWithStreams(exec.command, tty, streams, this.#get(id).directory, signal);
      exec.check();
      return code;
    } catch (error) {
      exec.kill();
      throw error;
    } finally {
      exec.clean();
    }
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

interface Started {
  readonly version: string;
  readonly recursiveReadOnly: boolean;
  readonly cgroup: string;
  readonly cgroups: CgroupTree;
  readonly network: PodNetwork;
  readonly sandboxes: OciSandboxes;
  readonly machine: MachineFacts;
}

/** What the agent itself has, and so can give. */
function machineFacts(cgroups: CgroupTree, seccomp: boolean): MachineFacts {
  const status = readFileSync("/proc/self/status", "utf8");
  const capabilities = capabilitiesOf(/^CapBnd:\s*(\w+)/m.exec(status)?.[1] ?? "");
  const own = Number(readFileSync("/proc/self/oom_score_adj", "utf8"));
  return {
    cgroupVersion: cgroups.version,
    capabilities,
    seccomp: seccomp && /^Seccomp:/m.test(status),
    // Without this right a process can only be made a likelier victim than the agent.
    minOomScoreAdj: capabilities.has("SYS_RESOURCE") ? -1000 : own,
    swapAccounting: cgroups.swapAccounting,
  };
}

/** A stop signal of an image: a name or a number. */
function signalName(text: string): string {
  const name = text.trim().toUpperCase();
  return /^(SIG)?[A-Z0-9+-]+$/.test(name) ? name : "SIGTERM";
}

async function seccompProfile({ security, name }: ContainerConfig): Promise<SeccompProfile | undefined> {
  const { seccomp } = security;
  if (!seccomp.startsWith("localhost/")) return undefined;
  const path = seccomp.slice("localhost/".length);
  try {
    const profile = JSON.parse(
      (await readRegularFile(path, { maxBytes: maxProfileBytes })).toString("utf8"),
    ) as SeccompProfile;
    if (typeof profile?.defaultAction !== "string") throw new Error(`${path} has no "defaultAction"`);
    return profile;
  } catch (error) {
    throw new RuntimeError(
      "CreateContainerError",
      `container "${name}": cannot load seccomp profile ${JSON.stringify(path)}: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** Folders of /dev that hold no devices of the machine, or those of another container. */
const foreign = new Set(["pts", "shm", "fd", "mqueue", "console", ".lxc", ".lxd-mounts", ".udev"]);

/** All devices of the machine for a privileged container; for another those that it names, in folders too. */
function devicesOf({ security, devices }: ContainerConfig): readonly SpecDevice[] {
  const all = (hostPath: string, path: string, permissions: string): SpecDevice[] => {
    const stats = lstatSync(hostPath);
    if (!stats.isDirectory()) {
      const isDevice = stats.isCharacterDevice() || stats.isBlockDevice();
      return isDevice ? [{ ...hostDevice(hostPath), path, permissions }] : [];
    }
    return readdirSync(hostPath)
      .filter((name) => !foreign.has(name))
      .flatMap((name) => all(join(hostPath, name), join(path, name), permissions));
  };
  const named = ({ hostPath, containerPath, permissions }: DeviceConfig): SpecDevice[] => {
    const found = statSync(hostPath).isDirectory()
      ? all(hostPath, containerPath, permissions)
      : [{ ...hostDevice(hostPath), path: containerPath, permissions }];
    return found;
  };
  const own = devices.flatMap(named);
  if (!security.privileged) return own;
  const taken = new Set(own.map(({ path }) => path));
  return [...all("/dev", "/dev", "rwm").filter(({ path }) => !taken.has(path)), ...own];
}
