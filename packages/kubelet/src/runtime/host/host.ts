import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import type { CdiRegistry, ContainerEdits } from "@dray/cdi";
import type { Clock, Log } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import {
  type ClientStreams,
  type Container,
  type ContainerConfig,
  type ExecResult,
  type LogLine,
  type MountConfig,
  RuntimeError,
  type RuntimeService,
  type Sandbox,
  type SandboxConfig,
} from "../service.ts";
import { AddressPool } from "./addresses.ts";
import { attachTo, makeInput } from "./attach.ts";
import { type Cgroups, detectCgroups, makeCgroup, removeCgroup } from "./cgroups.ts";
import { containerVariable, HostContainer } from "./container.ts";
import { programEnvironment, toolEnvironment } from "./environment.ts";
import { runCommand } from "./exec.ts";
import { runWithStreams } from "./exec-streams.ts";
import { forwardPort } from "./forward.ts";
import { type ImageMapping, ImageTable } from "./images.ts";
import { detectIsolation, type Isolation } from "./isolation.ts";
import { joinContainer } from "./join.ts";
import { LogReader } from "./logs.ts";
import { bootId } from "./processes.ts";
import { type ContainerRecord, readRecord, type SandboxRecord, writeRecord } from "./records.ts";
import { rewriter } from "./rewrite.ts";
import { planRoot, removeRoot, writeRoot } from "./root-plan.ts";
import { cgroupName, environmentName, scripts, startCommand, terminalName, wrapperName } from "./scripts.ts";
import { inTerminal, shellLine } from "./terminal.ts";
import { terminationMessage } from "./termination-message.ts";

export interface HostRuntimeOptions {
  /** Where the runtime keeps its records; below the node's root. */
  readonly directory: string;
  /** The node's root: what lies below it is the node's to create. */
  readonly rootDir: string;
  readonly nodeAddress: string;
  readonly images: readonly ImageMapping[];
  /** `plain`: without mount name spaces even where the system has them. */
  readonly isolation?: "auto" | "plain";
  /** `none`: without cgroups even where they can be made. */
  readonly cgroups?: "auto" | "none";
  /** Where CDI specs are looked for. */
  readonly cdi: CdiRegistry;
  /** The place on this machine of a path that the node's pods name. */
  hostPath(path: string): string;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often containers that another agent started are looked for, should their end go unnoticed. */
const checkMilliseconds = 10_000;

/** Runs containers as processes of the host, each with the node's files mounted at the container's paths. */
export class HostRuntime implements RuntimeService {
  readonly name = "host";
  readonly version = "1";
  readonly #options: HostRuntimeOptions;
  readonly #images: ImageTable;
  readonly #sandboxes = new Map<string, SandboxRecord>();
  readonly #containers = new Map<string, HostContainer>();
  readonly #handlers = new Set<(podUid: string) => void>();
  #isolation: Isolation = { type: "plain" };
  #cgroups: Cgroups | undefined;
  #addresses: AddressPool | undefined;
  #cancelCheck: (() => void) | undefined;

  constructor(options: HostRuntimeOptions) {
    this.#options = options;
    this.#images = new ImageTable(options.images);
  }

  /** How containers are kept apart here; decided by `start`. */
  get isolation(): Isolation["type"] {
    return this.#isolation.type;
  }

  /** What holds all processes of a container, whatever they do; undefined if some can outlive it. */
  get containment(): "cgroups" | "pid name spaces" | undefined {
    if (this.#cgroups !== undefined) return "cgroups";
    return this.#isolation.type === "mounts" && this.#isolation.pids ? "pid name spaces" : undefined;
  }

  async start(): Promise<void> {
    const { directory, rootDir, log } = this.#options;
    for (const name of ["sandboxes", "containers"]) makeFolderSync(join(directory, name), 0o700);
    const reasons: string[] = [];
    const cgroups =
      this.#options.cgroups === "none" ? { reason: "cgroups are switched off" } : await detectCgroups();
    if ("reason" in cgroups) reasons.push(cgroups.reason);
    else this.#cgroups = cgroups;
    if (this.#options.isolation !== "plain") {
      // Where there are cgroups, no pid name spaces: the machine's own numbers stay true for its programs.
      const { isolation, reason } = await detectIsolation(directory, rootDir, "reason" in cgroups);
      this.#isolation = isolation;
      if (reason !== undefined) reasons.push(reason);
      if (isolation.type === "plain")
        log.info({ reason }, "no mount name spaces: paths of volumes are rewritten instead");
    }
    if (this.containment === undefined)
      log.info(
        { reason: reasons.join("; ") },
        "neither cgroups nor pid name spaces: a process that leaves its session, its parent and its environment outlives its container",
      );
    // Renamed into place: shells that read the scripts of an older agent are not disturbed.
    for (const [name, source] of scripts(this.#isolation, directory))
      writeRecord(join(directory, name), source);
    const pool = readRecord<{ prefix: string }>(directory, "addresses.json");
    this.#addresses = await AddressPool.claim(rootDir, pool?.prefix);
    writeRecord(join(directory, "addresses.json"), JSON.stringify({ prefix: this.#addresses.prefix }));
    this.#adopt();
    this.#scheduleCheck();
  }

  #adopt(): void {
    const { directory } = this.#options;
    for (const id of readdirSync(join(directory, "sandboxes"))) {
      const record = readRecord<SandboxRecord>(join(directory, "sandboxes", id), "sandbox.json");
      // A directory without a record is what a killed agent had just begun, or had almost removed.
      if (record === undefined) rmSync(join(directory, "sandboxes", id), { recursive: true });
      else {
        const stopped = record.stopped || record.bootId !== bootId();
        this.#sandboxes.set(id, stopped ? { ...record, stopped } : record);
        if (!stopped) this.#addresses?.take(record.ip);
      }
    }
    for (const id of readdirSync(join(directory, "containers"))) {
      const record = readRecord<ContainerRecord>(join(directory, "containers", id), "container.json");
      if (record === undefined) {
        removeRoot(join(directory, "containers", id));
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
    const container = new HostContainer(directory, record, this.#options.clock, changed);
    this.#containers.set(record.id, container);
    return container;
  }

  #scheduleCheck(): void {
    this.#cancelCheck = this.#options.clock.after(checkMilliseconds, () => {
      for (const container of this.#containers.values()) container.refresh();
      this.#scheduleCheck();
    });
  }

  async close(): Promise<void> {
    this.#cancelCheck?.();
    for (const container of this.#containers.values()) container.release();
    this.#addresses?.close();
    this.#handlers.clear();
  }

  onChange(handler: (podUid: string) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  async runPodSandbox(config: SandboxConfig): Promise<Sandbox> {
    const id = randomUUID();
    const record: SandboxRecord = {
      id,
      config,
      ip: config.hostNetwork ? this.#options.nodeAddress : this.#pool.allocate(),
      createdAt: this.#options.clock.now(),
      bootId: bootId(),
    };
    this.#saveSandbox(record);
    return this.#sandbox(record);
  }

  get #pool(): AddressPool {
    if (this.#addresses === undefined) throw new Error("the runtime has not been started");
    return this.#addresses;
  }

  #saveSandbox(record: SandboxRecord): void {
    const directory = join(this.#options.directory, "sandboxes", record.id);
    makeFolderSync(directory, 0o700);
    writeRecord(join(directory, "sandbox.json"), JSON.stringify(record));
    this.#sandboxes.set(record.id, record);
  }

  #sandbox(record: SandboxRecord): Sandbox {
    const { id, config, ip, createdAt } = record;
    return { id, config, ip, createdAt, ready: !record.stopped };
  }

  async stopPodSandbox(id: string): Promise<void> {
    const record = this.#sandboxes.get(id);
    if (record === undefined || record.stopped) return;
    await Promise.all(this.#of(id).map((container) => container.end()));
    this.#saveSandbox({ ...record, stopped: true });
    if (!record.config.hostNetwork) this.#pool.free(record.ip);
  }

  async removePodSandbox(id: string): Promise<void> {
    await this.stopPodSandbox(id);
    for (const container of this.#of(id)) await this.removeContainer(container.record.id);
    rmSync(join(this.#options.directory, "sandboxes", id), { recursive: true, force: true });
    this.#sandboxes.delete(id);
  }

  #of(sandboxId: string): HostContainer[] {
    return [...this.#containers.values()].filter(({ record }) => record.sandboxId === sandboxId);
  }

  listPodSandboxes(): readonly Sandbox[] {
    return [...this.#sandboxes.values()].map((record) => this.#sandbox(record));
  }

  ensureImage(image: string, hasCommand: boolean): string {
    return this.#images.ensure(image, hasCommand);
  }

  async createContainer(sandboxId: string, config: ContainerConfig): Promise<Container> {
    if (!this.#sandboxes.has(sandboxId))
      throw new RuntimeError("CreateContainerError", `no sandbox ${sandboxId}`);
    const record: ContainerRecord = {
      id: randomUUID(),
      sandboxId,
      config,
      imageRef: this.#images.ensure(config.image, config.command.length > 0),
      createdAt: this.#options.clock.now(),
    };
    const container = this.#hold(record);
    makeFolderSync(container.directory, 0o700);
    this.#save(container);
    return container.status();
  }

  #save(container: HostContainer): void {
    writeRecord(join(container.directory, "container.json"), JSON.stringify(container.record));
  }

  #get(id: string): HostContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new RuntimeError("ContainerNotFound", `no container ${id}`);
    return container;
  }

  async startContainer(id: string): Promise<readonly string[]> {
    const container = this.#get(id);
    const { config, sandboxId } = container.record;
    if (container.launched)
      throw new RuntimeError("RunContainerError", `container "${config.name}" has been started before`);
    const edits = await this.#cdi(config.cdiDevices);
    const mounts = this.#mounts(container, edits);
    const isolation = this.#isolation;
    const isolated = isolation.type === "mounts";
    const rewrite = isolated ? (value: string) => value : rewriter(mounts);
    const env: Record<string, string> = { ...toolEnvironment, HOME: "/root" };
    if (config.tty) env["TERM"] = "xterm";
    for (const [name, value] of config.env) env[name] = rewrite(value);
    for (const assignment of edits.env ?? []) {
      const equals = assignment.indexOf("=");
      env[assignment.slice(0, equals)] = rewrite(assignment.slice(equals + 1));
    }
    env["DRAY_POD_IP"] = this.#sandboxes.get(sandboxId)?.ip ?? "";
    env[containerVariable] = id;
    const serviceAccount = mounts.find(({ containerPath }) => containerPath === serviceAccountDirectory);
    if (!isolated && serviceAccount !== undefined) env["DRAY_SERVICE_ACCOUNT_DIR"] = serviceAccount.hostPath;
    const command = [...(this.#images.command(config.image) ?? config.command), ...config.args].map(rewrite);
    const root = join(container.directory, "root");
    if (isolated) {
      const table = writeRoot(planRoot(mounts, this.#options.rootDir), root, isolation.pids);
      writeFileSync(join(container.directory, "mounts"), table);
    } else makeFolderSync(root);
    const directory = isolated ? config.workingDir || "/" : rewrite(config.workingDir || root);
    makeFolderSync(dirname(config.logPath));
    writeFileSync(config.logPath, "", { flag: "a" });
    const { script, prefix } = programEnvironment(env);
    writeFileSync(join(container.directory, environmentName), script, { mode: 0o600 });
    const run = [directory, command[0] ?? "", ...prefix, ...command];
    if (config.tty) this.#writeTerminal(container, run);
    if (config.stdin || config.tty) await makeInput(container.directory);
    const cgroup = this.#cgroups?.path(id);
    container.record = {
      ...container.record,
      bootId: bootId(),
      program: { env, directory, isolated, pids: isolated && isolation.pids },
      ...(cgroup === undefined ? {} : { cgroup }),
    };
    this.#save(container);
    if (cgroup !== undefined) {
      makeCgroup(cgroup);
      writeFileSync(join(container.directory, cgroupName), `${cgroup}\n`);
    }
    container.watch();
    await this.#spawn(container, run);
    const status = container.status();
    if (status.reason === "StartError")
      throw new RuntimeError("RunContainerError", status.message ?? "the container could not be started");
    return unsupportedEdits.filter((name) => isPresent(edits[name]));
  }

  /** What starts the program in a terminal; the wrapper runs it instead of the start script. */
  #writeTerminal(container: HostContainer, run: readonly string[]): void {
    const { directory, record } = container;
    const start = startCommand(this.#isolation, this.#options.directory);
    const argv = inTerminal([...start, directory, record.config.logPath, ...run]);
    writeFileSync(join(directory, terminalName), `exec ${shellLine(argv)}\n`, { mode: 0o600 });
  }

  async #spawn(container: HostContainer, run: readonly string[]): Promise<void> {
    const { directory } = container;
    const env = { ...toolEnvironment, [containerVariable]: container.record.id };
    const { logPath } = container.record.config;
    const child = spawn("/bin/sh", [join(this.#options.directory, wrapperName), directory, logPath, ...run], {
      cwd: "/",
      env,
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
  }

  async #cdi(names: readonly string[]): Promise<ContainerEdits> {
    if (names.length === 0) return {};
    try {
      return await this.#options.cdi.resolve(names);
    } catch (error) {
      throw new RuntimeError(
        "CreateContainerError",
        `failed to inject CDI devices: ${(error as Error).message}`,
        { cause: error },
      );
    }
  }

  /** The pod's mounts and those of CDI, which replace a mount at the same place. */
  #mounts(container: HostContainer, edits: ContainerEdits): MountConfig[] {
    const { config } = container.record;
    const mounts = new Map<string, MountConfig>();
    const add = (mount: MountConfig): void => {
      mounts.delete(mount.containerPath);
      mounts.set(mount.containerPath, mount);
    };
    for (const mount of config.mounts) add(mount);
    if (config.terminationMessagePath !== undefined) {
      const file = join(container.directory, "termination-log");
      writeFileSync(file, "", { flag: "a", mode: 0o666 });
      add({ hostPath: file, containerPath: config.terminationMessagePath, readOnly: false });
    }
    // Device nodes of the host are visible as they are, unless they have another name in the container.
    for (const { path, hostPath } of edits.deviceNodes ?? [])
      if (hostPath !== undefined && hostPath !== "" && hostPath !== path)
        add({ hostPath, containerPath: path, readOnly: false });
    for (const { hostPath, containerPath, options } of edits.mounts ?? [])
      add({
        hostPath: this.#options.hostPath(hostPath),
        containerPath,
        readOnly: options?.includes("ro") ?? false,
      });
    const { workingDir } = config;
    if (workingDir !== undefined && workingDir !== "" && !existsSync(workingDir)) {
      const covered = [...mounts.keys()].some(
        (path) => workingDir === path || workingDir.startsWith(`${path}/`),
      );
      if (!covered) {
        const made = join(container.directory, "work");
        makeFolderSync(made);
        add({ hostPath: made, containerPath: workingDir, readOnly: false });
      }
    }
    return [...mounts.values()];
  }

  async stopContainer(id: string, graceMilliseconds: number): Promise<void> {
    const container = this.#containers.get(id);
    if (container === undefined || !container.launched) return;
    if (!container.exited && graceMilliseconds > 0) {
      container.signal("SIGTERM");
      let cancel = (): void => {};
      const expired = new Promise<void>((resolve) => {
        cancel = this.#options.clock.after(graceMilliseconds, resolve);
      });
      await Promise.race([container.ended(), expired]);
      cancel();
    }
    await container.kill();
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    await container.end();
    container.unwatch();
    this.#containers.delete(id);
    // The record goes first: what is left without one is removed by whoever comes next.
    rmSync(join(container.directory, "container.json"), { force: true });
    removeRoot(container.directory);
  }

  listContainers(): readonly Container[] {
    return [...this.#containers.values()].map((container) => this.#withMessage(container));
  }

  /** The last word that an ended container left. */
  #withMessage(container: HostContainer): Container {
    const status = container.status();
    if (status.state !== "exited" || status.message !== undefined) return status;
    const message = terminationMessage(join(container.directory, "termination-log"));
    return message === "" ? status : { ...status, message };
  }

  async *readLog(logPath: string, follow: AbortSignal | undefined): AsyncIterable<LogLine> {
    const reader = new LogReader(logPath, this.#options.clock.now);
    try {
      const container = [...this.#containers.values()].find(
        ({ record }) => record.config.logPath === logPath,
      );
      while (follow !== undefined && !follow.aborted && container?.launched && !container.exited) {
        // First listen, then look: what comes in between is not missed.
        let wake = (): void => {};
        const more = new Promise<void>((resolve) => {
          wake = resolve;
        });
        const unlisten = container.onLog(wake);
        follow.addEventListener("abort", wake, { once: true });
        yield* reader.read(false);
        if (!container.exited) await more;
        unlisten();
        follow.removeEventListener("abort", wake);
      }
      yield* reader.read(true);
    } finally {
      reader.close();
    }
  }

  async execSync(id: string, command: readonly string[], timeoutMilliseconds: number): Promise<ExecResult> {
    const joining = joinContainer(this.#get(id), this.#isolation, command, false);
    return runCommand(joining, timeoutMilliseconds, this.#options.clock);
  }

  async exec(
    id: string,
    command: readonly string[],
    tty: boolean,
    streams: ClientStreams,
    signal: AbortSignal,
  ): Promise<number> {
    const container = this.#get(id);
    const joining = joinContainer(container, this.#isolation, command, tty);
    return runWithStreams(joining, tty, streams, container.directory, signal);
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

const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

/** A process of the host has no OCI bundle for hooks, no network and no classes of its own, and the agent's groups. */
const unsupportedEdits = ["hooks", "netDevices", "intelRdt", "additionalGids"] as const;

function isPresent(edit: unknown): boolean {
  return Array.isArray(edit) ? edit.length > 0 : edit !== undefined;
}
