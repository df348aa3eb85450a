import { spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolderSync } from "@dray/files";
import { formatResolvConf } from "../../dns/resolv-conf.ts";
import type { ContainerConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import { runningTarget } from "../target.ts";
import { type ContainerDevice, containerDevices } from "./access.ts";
import { loopbackOf } from "./addresses.ts";
import { makeInput } from "./attach.ts";
import { type Bounds, boundsOf, containerCgroup, makeBounds, makePodBounds } from "./bounds.ts";
import { type Cgroups, makeCgroup } from "./cgroups.ts";
import { containerVariable, type HostContainer } from "./container.ts";
import { programEnvironment, toolEnvironment } from "./environment.ts";
import type { ImageTable } from "./images.ts";
import type { Isolation, PidSpace } from "./isolation.ts";
import { etcResolvConf, type LaunchPlan, planLaunch } from "./launch-plan.ts";
import type { LoaderSettings } from "./loader/variables.ts";
import { makeLog } from "./logs.ts";
import type { Privileges } from "./privileges.ts";
import { bootId, isAlive } from "./processes.ts";
import { writeRecord } from "./records.ts";
import { planRoot, type RootView } from "./root-plan.ts";
import { writeRoot } from "./root-write.ts";
import type { HostSandboxes } from "./sandboxes.ts";
import {
  boundsName,
  cgroupName,
  checkName,
  environmentName,
  hostnameName,
  mountsName,
  oomScoreName,
  privilegesName,
  readOnlyName,
  sessionCommand,
  startCommand,
  startName,
  terminalName,
  wrapperName,
} from "./scripts.ts";
import { inTerminal, shellLine } from "./terminal.ts";
import { neededFiles, ownView, realPath } from "./view.ts";

/** Input of a launch, beside the record of the container. */
export interface LaunchContext {
  /** Folder of the runtime, which has the scripts. */
  readonly directory: string;
  /** The node's root. */
  readonly rootDir: string;
  readonly images: ImageTable;
  readonly sandbox: ReturnType<HostSandboxes["get"]>;
  /** The container that `ContainerConfig.target` names. */
  readonly target: HostContainer | undefined;
  readonly isolation: Isolation;
  readonly bounds: Bounds;
  readonly cgroups: Cgroups | undefined;
  /** The loader library, if there is one on this machine. */
  readonly loader: Loader | undefined;
  privileges(config: ContainerConfig, devices: readonly ContainerDevice[]): Privileges;
}

/** The loader library of a node. */
export interface Loader {
  /** Its path on the machine. */
  readonly path: string;
  readonly firstFreePort: number;
}

/** Path of the loader library in containers with a root of their own. */
const containerLibrary = "/.dray-pod.so";

/** Writes the record of a container, from which the next agent adopts it. */
export function saveRecord({ directory, record }: HostContainer): void {
  writeRecord(join(directory, "container.json"), JSON.stringify(record));
}

/**
 * Writes the files from which the shell around a container makes its root, its cgroup and its environment,
 * and runs that shell. Rejects with RuntimeError if the program cannot be started.
 */
export async function launchContainer(container: HostContainer, context: LaunchContext): Promise<void> {
  if (container.launched) {
    const { name } = container.record.config;
    throw new RuntimeError("RunContainerError", `container "${name}" has been started before`);
  }
  const { limit } = container.record;
  if (limit?.isFatal) throw new RuntimeError("RunContainerError", limit.text);
  const launch = new Launch(container, context);
  await launch.prepare();
  container.watch();
  await launch.run();
  const status = container.status();
  if (status.reason === "StartError")
    throw new RuntimeError("RunContainerError", status.message ?? "the container could not be started");
}

function loaderSettings(
  { path, firstFreePort }: Loader,
  isolated: boolean,
  sandbox: LaunchContext["sandbox"],
): LoaderSettings {
  const ip = sandbox?.config.hostNetwork ? undefined : sandbox?.ip;
  return {
    library: isolated ? containerLibrary : path,
    addresses: ip === undefined ? undefined : { ip, loopback: loopbackOf(ip) },
    firstFreePort,
  };
}

/** Upstream: CRI, NamespaceOption.pid. */
function pidSpaceOf(config: ContainerConfig, { isolation, sandbox, target }: LaunchContext): PidSpace {
  if (isolation.type === "plain" || !isolation.pids || sandbox?.config.hostPID) return "machine";
  if (config.target !== undefined) return { of: runningTarget(config, target?.process).pid };
  if (!sandbox?.sharesPids) return "own";
  if (sandbox.process === undefined || !isAlive(sandbox.process))
    throw new RuntimeError("RunContainerError", "the process of the sandbox has ended");
  return { of: sandbox.process.pid };
}

class Launch {
  readonly #container: HostContainer;
  readonly #context: LaunchContext;
  readonly #config: ContainerConfig;
  readonly #privileges: Privileges;
  /** The container sees the files and devices of the machine only as far as it needs them. */
  readonly #hasOwnView: boolean;
  readonly #view: ReturnType<typeof ownView>;
  readonly #plan: LaunchPlan;
  readonly #pidSpace: PidSpace;
  /** Arguments of the start script: the working directory, the program, and its command line. */
  readonly #words: readonly string[];
  readonly #environment: string;

  constructor(container: HostContainer, context: LaunchContext) {
    const { directory, record } = container;
    const { id, config, edits } = record;
    const { isolation, sandbox } = context;
    const image = context.images.find(config.image);
    this.#container = container;
    this.#context = context;
    this.#config = config;
    const isolated = isolation.type === "mounts";
    const devices = containerDevices(config, edits);
    this.#privileges = context.privileges(config, devices);
    this.#pidSpace = pidSpaceOf(config, context);
    this.#hasOwnView = isolated && !config.security.privileged;
    this.#view = this.#hasOwnView
      ? ownView(config, directory, neededFiles(image))
      : { folders: [], mounts: [] };
    const { loader } = context;
    const library =
      isolated && loader !== undefined
        ? [{ hostPath: loader.path, containerPath: containerLibrary, readOnly: true }]
        : [];
    this.#plan = planLaunch({
      id,
      config,
      edits,
      image,
      ownMounts: [...this.#view.mounts, ...library],
      devices,
      devicesHidden: this.#hasOwnView,
      podIP: sandbox?.ip ?? "",
      hostname: sandbox?.config.hostname ?? "",
      namespace: sandbox?.config.namespace ?? "",
      podName: sandbox?.config.name ?? "",
      isolated,
      isMappedRoot: isolation.type === "mounts" && isolation.users,
      resolvConf: sandbox?.config.dns && formatResolvConf(sandbox.config.dns),
      resolvConfPath: realPath(etcResolvConf) ?? etcResolvConf,
      directory,
      loader: loader && loaderSettings(loader, isolated, sandbox),
      machine: { exists: existsSync, real: realPath },
    });
    const { command, workingDirectory, env } = this.#plan;
    const { script, prefix } = programEnvironment(env);
    this.#environment = script;
    this.#words = [workingDirectory, command[0] ?? "", ...prefix, ...command];
  }

  async prepare(): Promise<void> {
    const { directory } = this.#container;
    const { prefix, user } = this.#privileges;
    this.#writeOwnFiles();
    this.#writeRoot();
    if (prefix.length > 0) writeFileSync(join(directory, privilegesName), `${shellLine(prefix)}\n`);
    writeFileSync(join(directory, environmentName), this.#environment, { mode: 0o600 });
    this.#writeStart();
    if (this.#config.stdin || this.#config.tty) await makeInput(directory, user);
    this.#writeCgroups();
  }

  /** Folders and files that only this container has, and its host name. */
  #writeOwnFiles(): void {
    const { isolation, sandbox } = this.#context;
    for (const { path, mode } of [...this.#view.folders, ...this.#plan.folders]) {
      makeFolderSync(path);
      // The umask must not apply.
      chmodSync(path, mode);
      this.#giveToUser(path);
    }
    for (const [path, target] of this.#plan.links) {
      makeFolderSync(dirname(path));
      symlinkSync(target, path);
    }
    for (const [path, text, mode] of this.#plan.files) {
      writeFileSync(path, text, { mode });
      // The umask must not apply.
      chmodSync(path, mode);
      this.#giveToUser(path);
    }
    if (
      isolation.type === "mounts" &&
      isolation.uts &&
      sandbox !== undefined &&
      sandbox.config.hostname !== ""
    )
      writeFileSync(join(this.#container.directory, hostnameName), `${sandbox.config.hostname}\n`);
  }

  #giveToUser(path: string): void {
    const { user } = this.#privileges;
    if (user !== undefined) chownSync(path, user.uid, user.gid);
  }

  /** The root directory and the log. */
  #writeRoot(): void {
    const { directory } = this.#container;
    const { isolation, rootDir } = this.#context;
    const root = join(directory, "root");
    if (isolation.type === "mounts") {
      const { readOnlyRootFilesystem: readOnlyRoot } = this.#config.security;
      const rootView: RootView = {
        files: this.#hasOwnView || readOnlyRoot ? "readOnly" : "writable",
        devices: this.#hasOwnView ? "harmless" : "all",
        readOnlyRoot,
      };
      const ownProc = this.#pidSpace !== "machine";
      const files = writeRoot(planRoot(this.#plan.mounts, rootDir, rootView), root, ownProc);
      writeFileSync(join(directory, mountsName), files.table);
      if (files.check !== "") writeFileSync(join(directory, checkName), files.check);
      if (readOnlyRoot) writeFileSync(join(directory, readOnlyName), "");
    } else makeFolderSync(root);
    const { logPath } = this.#config;
    makeLog(logPath);
    // The user may reopen /dev/stdout, and make folders beside those of the machine.
    for (const path of [logPath, root]) this.#giveToUser(path);
  }

  /** The command with which the wrapper starts the program. */
  #writeStart(): void {
    const { directory, record } = this.#container;
    const { isolation, directory: scripts } = this.#context;
    if (!this.#config.tty) {
      const line = shellLine(sessionCommand(isolation, this.#pidSpace, scripts));
      writeFileSync(join(directory, startName), `${line}\n`);
      return;
    }
    const start = startCommand(isolation, this.#pidSpace, scripts);
    const argv = inTerminal([...start, directory, record.config.logPath, ...this.#words]);
    writeFileSync(join(directory, terminalName), `exec ${shellLine(argv)}\n`, { mode: 0o600 });
  }

  /** Saves the record before it makes cgroups, so that they are found if the agent is killed. */
  #writeCgroups(): void {
    const { directory, record } = this.#container;
    const { id, sandboxId } = record;
    const { bounds: ability, cgroups, isolation } = this.#context;
    const bounds = boundsOf(ability, containerCgroup(sandboxId, id));
    // In the unified hierarchy a process is in one cgroup only: that of its bounds contains it, too.
    const cgroup = (ability.version === 2 ? bounds[0] : undefined) ?? cgroups?.path(id);
    const { env, workingDirectory, mounts } = this.#plan;
    const { prefix, user, groups } = this.#privileges;
    const isolated = isolation.type === "mounts";
    this.#container.record = {
      ...record,
      bootId: bootId(),
      program: {
        env,
        directory: workingDirectory,
        mounts,
        isolated,
        pids: this.#pidSpace !== "machine",
        isFirst: this.#pidSpace === "own",
        privileges: prefix,
        ...(user === undefined ? {} : { user }),
        groups,
      },
      ...(cgroup === undefined ? {} : { cgroup }),
      bounds,
    };
    saveRecord(this.#container);
    const { resources } = this.#config;
    if (bounds.length > 0) {
      makePodBounds(ability, sandboxId);
      makeBounds(ability, containerCgroup(sandboxId, id), resources);
      writeFileSync(join(directory, boundsName), bounds.map((folder) => `${folder}\n`).join(""));
    }
    const { oomScoreAdj } = resources;
    if (oomScoreAdj !== undefined) writeFileSync(join(directory, oomScoreName), `${oomScoreAdj}\n`);
    if (cgroup !== undefined) {
      makeCgroup(cgroup);
      writeFileSync(join(directory, cgroupName), `${cgroup}\n`);
    }
  }

  /** Runs the wrapper. Resolves when the program has started or failed to. */
  async run(): Promise<void> {
    const container = this.#container;
    const { directory, record } = container;
    const env = { ...toolEnvironment, [containerVariable]: record.id };
    const wrapper = join(this.#context.directory, wrapperName);
    const child = spawn("/bin/sh", [wrapper, directory, record.config.logPath, ...this.#words], {
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
}
