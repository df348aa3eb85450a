import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import { formatResolvConf } from "../../dns/resolv-conf.ts";
import type { MountConfig, ResourceConfig, SandboxConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import { bootId, isAlive, type ProcessIdentity, parseStat, signal } from "../host/processes.ts";
import { readRecord, writeRecord } from "../host/records.ts";
import type { Sandbox } from "../service.ts";
import type { CgroupTree } from "./cgroups.ts";
import { unmountAll } from "./images/snapshots.ts";
import type { PodNetwork } from "./network/network.ts";
import { holderName } from "./scripts.ts";
import { runTool, tool } from "./tools.ts";

/** Record of a sandbox on disk. */
export interface OciSandboxRecord {
  readonly id: string;
  readonly config: SandboxConfig;
  readonly ips: readonly string[];
  readonly createdAt: number;
  /** The boot in which it was made: a reboot ends its name spaces. */
  readonly bootId: string;
  /** Cgroup of all its containers, below the root of every hierarchy. */
  readonly cgroup: string;
  readonly stopped?: true;
}

export interface OciSandboxesOptions {
  /** Folder of the runtime. */
  readonly directory: string;
  readonly nodeAddress: string;
  /** Parent of all cgroups of the runtime. */
  readonly cgroup: string;
  readonly cgroups: CgroupTree;
  readonly network: PodNetwork;
  readonly clock: Clock;
}

/** Size of a pod's /dev/shm. Upstream: containerd, defaultShmSize. */
const shmBytes = 64 << 20;
const maxHostname = 64;

type Namespace = "network" | "ipc" | "uts" | "pid";

/**
 * Sandboxes of pods: name spaces, held by files onto which they are mounted, so that they need no process.
 * Only a pod whose containers share their processes has one: the first of its pid name space.
 */
export class OciSandboxes {
  readonly #options: OciSandboxesOptions;
  readonly #folder: string;
  readonly #records = new Map<string, OciSandboxRecord>();

  constructor(options: OciSandboxesOptions) {
    this.#options = options;
    this.#folder = join(options.directory, "sandboxes");
  }

  /** Adopts the sandboxes of an earlier agent, and removes partial ones. */
  async start(): Promise<void> {
    makeFolderSync(this.#folder, 0o711);
    for (const id of readdirSync(this.#folder)) {
      const record = readRecord<OciSandboxRecord>(join(this.#folder, id), "sandbox.json");
      if (record === undefined) {
        await this.#dismantle(id, undefined);
        await rm(join(this.#folder, id), { recursive: true, force: true });
      } else {
        const stopped = record.stopped || record.bootId !== bootId();
        this.#records.set(id, stopped ? { ...record, stopped } : record);
      }
    }
    const running = [...this.#records.values()].filter(({ stopped }) => !stopped);
    this.#options.cgroups.keep(this.#options.cgroup, new Set(running.map(({ cgroup }) => cgroup)));
    const known = new Set(running.map(({ id }) => id));
    await this.#options.network.collect(known, (sandbox) => join(this.#folder, sandbox, "network"));
  }

  get(id: string): OciSandboxRecord | undefined {
    return this.#records.get(id);
  }

  list(podUid: string | undefined): Sandbox[] {
    return [...this.#records.values()]
      .filter(({ config }) => podUid === undefined || config.uid === podUid)
      .map((record) => ({
        id: record.id,
        config: identityOf(record.config),
        ips: record.ips,
        createdAt: record.createdAt,
        ready: this.#isReady(record),
      }));
  }

  #isReady({ id, config, stopped }: OciSandboxRecord): boolean {
    if (stopped) return false;
    const holder = config.shareProcessNamespace && !config.hostPID ? this.#holder(id) : undefined;
    return !config.shareProcessNamespace || config.hostPID || (holder !== undefined && isAlive(holder));
  }

  #holder(id: string): ProcessIdentity | undefined {
    try {
      return parseStat(readFileSync(join(this.#folder, id, "holder"), "utf8"));
    } catch {
      return undefined;
    }
  }

  /** Makes a sandbox. Returns the ignored fields. Removes everything on failure. */
  async run(id: string, config: SandboxConfig): Promise<readonly string[]> {
    const directory = join(this.#folder, id);
    // Named as upstream's, so that tools find the pod. All sandboxes of the pod share it.
    const cgroup = `${this.#options.cgroup}/pod${config.uid}`;
    makeFolderSync(directory, 0o711);
    try {
      this.#options.cgroups.make(cgroup, config.resources);
      const unsupported: string[] = [];
      let ips: readonly string[] = [this.#options.nodeAddress];
      if (!config.hostNetwork) {
        const made = await this.#options.network.add(id, this.#path(id, "network"), config.ports);
        ips = [made.ip];
        for (const one of made.unsupported) unsupported.push(one);
      }
      await this.#makeNamespaces(id, config);
      await this.#setSysctls(id, config);
      await this.#writeFiles(directory, config, ips);
      if (config.shareProcessNamespace && !config.hostPID) await this.#startHolder(id);
      this.#save({ id, config, ips, createdAt: this.#options.clock.now(), bootId: bootId(), cgroup });
      return unsupported;
    } catch (error) {
      await this.#dismantle(id, cgroup).catch(() => {});
      await rm(directory, { recursive: true, force: true });
      if (error instanceof RuntimeError) throw error;
      throw new RuntimeError(
        "CreatePodSandboxError",
        `failed to create the sandbox: ${(error as Error).message}`,
        {
          cause: error,
        },
      );
    }
  }

  /** Changes the bounds of a sandbox. Throws RuntimeError with the file and value that the kernel refuses. */
  update(id: string, resources: ResourceConfig): void {
    const record = this.#records.get(id);
    if (record === undefined || record.stopped)
      throw new RuntimeError("UpdatePodSandboxError", `sandbox ${id} does not run`);
    this.#options.cgroups.bound(record.cgroup, resources);
    const { config } = record;
    this.#save({ ...record, config: { ...config, resources: { ...config.resources, ...resources } } });
  }

  #path(id: string, name: string): string {
    return join(this.#folder, id, name);
  }

  /** A pod with the machine's network has its host name too. */
  async #makeNamespaces(id: string, config: SandboxConfig): Promise<void> {
    const kinds = [...(config.hostIPC ? [] : ["ipc"]), ...(config.hostNetwork ? [] : ["uts"])];
    if (kinds.length === 0) return;
    for (const kind of kinds) writeFileSync(this.#path(id, kind), "", { mode: 0o600 });
    const hostname = config.hostname.slice(0, maxHostname);
    const become = config.hostNetwork || hostname === "" ? ["true"] : [tool("hostname"), hostname];
    await runTool("unshare", [...kinds.map((kind) => `--${kind}=${this.#path(id, kind)}`), "--", ...become]);
  }

  /** Only sysctls of name spaces that the pod has. Upstream: containerd, and runc's validator. */
  async #setSysctls(id: string, config: SandboxConfig): Promise<void> {
    const wanted = Object.entries(config.sysctls).map(([name, value]) => {
      const path = name.includes("/") ? name : name.replaceAll(".", "/");
      const network = path.startsWith("net/");
      const ipc = /^(kernel\/(shm\w+|msg\w+|sem)|fs\/mqueue\/\w+)$/.test(path);
      if (!/^[\w./-]+$/.test(path) || path.includes("..") || !(network || ipc))
        throw new RuntimeError(
          "CreatePodSandboxError",
          `sysctl ${JSON.stringify(name)} does not belong to a name space; expected net.*, kernel.shm*, kernel.msg*, kernel.sem or fs.mqueue.*`,
        );
      if (network ? config.hostNetwork : config.hostIPC)
        throw new RuntimeError(
          "CreatePodSandboxError",
          `sysctl ${name} would be set for the whole machine: the pod has its ${network ? "network" : "IPC"}`,
        );
      return [path, value] as const;
    });
    // Any program may listen on any port, as upstream (containerd, enable_unprivileged_ports).
    if (!config.hostNetwork && !wanted.some(([path]) => path === unprivilegedPorts))
      wanted.push([unprivilegedPorts, "0"]);
    if (wanted.length === 0) return;
    const script = 'while [ $# -gt 0 ]; do printf %s "$2" >"/proc/sys/$1" || exit 1; shift 2; done';
    await runTool("nsenter", [
      ...(config.hostNetwork ? [] : [`--net=${this.#path(id, "network")}`]),
      ...(config.hostIPC ? [] : [`--ipc=${this.#path(id, "ipc")}`]),
      "--",
      "/bin/sh",
      "-c",
      script,
      "sysctl",
      ...wanted.flat(),
    ]).catch((error: Error) => {
      throw new RuntimeError(
        "CreatePodSandboxError",
        `cannot set sysctls ${Object.keys(config.sysctls).join(", ")}: ${error.message.split(": ").slice(-3).join(": ")}`,
        { cause: error },
      );
    });
  }

  async #writeFiles(directory: string, config: SandboxConfig, [ip = ""]: readonly string[]): Promise<void> {
    const dns = config.dns === undefined ? machineFile("/etc/resolv.conf") : formatResolvConf(config.dns);
    const files: readonly (readonly [string, string])[] = [
      ["resolv.conf", dns],
      ["hostname", `${config.hostname}\n`],
      [
        "hosts",
        config.hostNetwork
          ? machineFile("/etc/hosts")
          : `127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n${ip}\t${config.hostname}\n`,
      ],
    ];
    for (const [name, text] of files) writeFileSync(join(directory, name), text, { mode: 0o644 });
    if (config.hostIPC) return;
    const shm = join(directory, "shm");
    makeFolderSync(shm);
    await runTool("mount", [
      "-t",
      "tmpfs",
      "-o",
      `nosuid,noexec,nodev,mode=1777,size=${shmBytes}`,
      "shm",
      shm,
    ]);
  }

  async #startHolder(id: string): Promise<void> {
    const path = this.#path(id, "pid");
    const holder = this.#path(id, "holder");
    writeFileSync(path, "", { mode: 0o600 });
    const script = join(this.#options.directory, holderName);
    const child = spawn(
      tool("unshare"),
      [`--pid=${path}`, "--fork", "--kill-child", "--", "/bin/sh", script, holder],
      {
        cwd: "/",
        env: {},
        detached: true,
        stdio: "ignore",
      },
    );
    child.unref();
    let failed: string | undefined;
    child.once("error", (error) => {
      failed = error.message;
    });
    child.once("exit", (code) => {
      failed ??= `unshare ended with ${code}`;
    });
    // A process of unshare mounts the file, maybe after the holder has started.
    for (;;) {
      if (failed !== undefined) throw new Error(`cannot make a pid name space: ${failed}`);
      if (this.#holder(id) !== undefined && isMounted(path)) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Files of the sandbox's own name spaces. */
  namespaces(id: string): Readonly<Partial<Record<Namespace, string>>> {
    const config = this.#records.get(id)?.config;
    if (config === undefined) return {};
    return {
      ...(config.hostNetwork ? {} : { network: this.#path(id, "network"), uts: this.#path(id, "uts") }),
      ...(config.hostIPC ? {} : { ipc: this.#path(id, "ipc") }),
      ...(config.shareProcessNamespace && !config.hostPID ? { pid: this.#path(id, "pid") } : {}),
    };
  }

  /** Default mounts of each container of the sandbox, which its own mounts override. */
  mounts(id: string): readonly MountConfig[] {
    const config = this.#records.get(id)?.config;
    const etc = ["resolv.conf", "hostname", "hosts"].map((name) => ({
      hostPath: this.#path(id, name),
      containerPath: `/etc/${name}`,
      readOnly: false,
    }));
    const shm = config?.hostIPC ? "/dev/shm" : this.#path(id, "shm");
    return [...etc, { hostPath: shm, containerPath: "/dev/shm", readOnly: false }];
  }

  /** Frees the address and the name spaces. No process may run in it any more. */
  async stop(id: string): Promise<void> {
    const record = this.#records.get(id);
    if (record === undefined || record.stopped) return;
    await this.#dismantle(id, record.cgroup);
    this.#save({ ...record, stopped: true });
  }

  /** Removes everything that a sandbox may have, with or without a record. */
  async #dismantle(id: string, cgroup: string | undefined): Promise<void> {
    const holder = this.#holder(id);
    if (holder !== undefined && isAlive(holder)) signal(holder.pid, "SIGKILL");
    await this.#options.network.remove(id, this.#path(id, "network"));
    for (const name of ["ipc", "uts", "pid", "shm"])
      if (existsSync(this.#path(id, name))) await unmountAll(this.#path(id, name));
    const others = [...this.#records.values()].filter((record) => record.id !== id && !record.stopped);
    if (cgroup !== undefined && others.every((record) => record.cgroup !== cgroup))
      this.#options.cgroups.remove(cgroup);
  }

  async remove(id: string): Promise<void> {
    await this.#dismantle(id, this.#records.get(id)?.cgroup);
    await rm(join(this.#folder, id), { recursive: true, force: true });
    this.#records.delete(id);
  }

  #save(record: OciSandboxRecord): void {
    writeRecord(join(this.#folder, record.id, "sandbox.json"), JSON.stringify(record));
    this.#records.set(record.id, record);
  }
}

function identityOf({ namespace, name, uid, attempt }: SandboxConfig): Sandbox["config"] {
  return { namespace, name, uid, attempt };
}

const unprivilegedPorts = "net/ipv4/ip_unprivileged_port_start";

function machineFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function isMounted(path: string): boolean {
  return readFileSync("/proc/self/mountinfo", "utf8").includes(` ${path} `);
}
