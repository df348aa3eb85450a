import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@dray/client";
import { makeFolderSync, removeFolder } from "@dray/files";
import { machineHosts, nodeHosts } from "../../base/node-hosts.ts";
import { formatResolvConf } from "../../dns/resolv-conf.ts";
import type { MountConfig, ResourceConfig, SandboxConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import { bootId, isAlive, signal } from "../host/processes.ts";
import { readRecord, writeRecord } from "../host/records.ts";
import type { LinuxSandbox, Sandbox } from "../service.ts";
import type { CgroupTree } from "./cgroups.ts";
import { unmountAll } from "./images/snapshots.ts";
import type { PodNetwork } from "./network/network.ts";
import { maxHostname, type NodeSpace } from "./node-space.ts";
import { sandboxProcess, startSandboxProcess } from "./sandbox-process.ts";
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
  /** The pod has `hostNetwork`, and the node a network of its own. */
  readonly nodeNetwork?: true;
  readonly stopped?: true;
}

export interface OciSandboxesOptions {
  /** Folder of the runtime. */
  readonly directory: string;
  /** Folder of the network name spaces of pods, which is shared with containers that mount it. */
  readonly networkNamespaces: string;
  /** Maps a path of this machine to the node's. */
  nodePath(path: string): string;
  readonly nodeName: string;
  readonly nodeAddress: string;
  readonly node: NodeSpace;
  /** Parent of all cgroups of the runtime. */
  readonly cgroup: string;
  readonly cgroups: CgroupTree;
  readonly network: PodNetwork;
  readonly clock: Clock;
}

/** Size of a pod's /dev/shm. Upstream: containerd, defaultShmSize. */
const shmBytes = 64 << 20;

type Namespace = "network" | "ipc" | "uts" | "pid";

/**
 * Sandboxes of pods: name spaces, held by files onto which they are mounted, and a process for programs that
 * find them by one. A sandbox does not depend on its process, unless containers share its pid name space.
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
        await removeFolder(join(this.#folder, id));
      } else {
        const { config, nodeNetwork = false } = record;
        // Its node has another network now.
        const isMoved = config.hostNetwork && nodeNetwork !== (this.#options.node.network !== undefined);
        const stopped = record.stopped || record.bootId !== bootId() || isMoved;
        this.#records.set(id, stopped ? { ...record, stopped: true } : record);
      }
    }
    const running = [...this.#records.values()].filter(({ stopped }) => !stopped);
    this.#options.cgroups.keep(this.#options.cgroup, new Set(running.map(({ cgroup }) => cgroup)));
    const known = new Set(running.map(({ id }) => id));
    await this.#options.network.collect(known, (sandbox) => this.#networkPath(sandbox));
  }

  #networkPath(id: string): string {
    return join(this.#options.networkNamespaces, id);
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
    return !config.shareProcessNamespace || config.hostPID || this.#pid(id) > 0;
  }

  /** The process of a sandbox; 0 if it does not run. */
  #pid(id: string): number {
    const found = sandboxProcess(this.#path(id, "holder"));
    return found !== undefined && isAlive(found) ? found.pid : 0;
  }

  /** Makes a sandbox. Returns the ignored fields. Removes everything on failure. */
  async run(id: string, config: SandboxConfig): Promise<readonly string[]> {
    const { node } = this.#options;
    const directory = join(this.#folder, id);
    // Named as upstream's, so that tools find the pod. All sandboxes of the pod share it.
    const cgroup = `${this.#options.cgroup}/pod${config.uid}`;
    makeFolderSync(directory, 0o711);
    try {
      this.#options.cgroups.make(cgroup, config.resources);
      const unsupported: string[] = [];
      let ips: readonly string[] = [this.#options.nodeAddress];
      if (!config.hostNetwork) {
        const made = await this.#options.network.add(id, this.#networkPath(id), config.ports);
        ips = [made.ip];
        for (const one of made.unsupported) unsupported.push(one);
      }
      await this.#makeNamespaces(id, config);
      await this.#setSysctls(id, config);
      await this.#writeFiles(directory, config, ips);
      const nodeNetwork = config.hostNetwork && node.network !== undefined;
      const createdAt = this.#options.clock.now();
      const record = { id, config, ips, createdAt, bootId: bootId(), cgroup };
      await this.#startProcess(id, config);
      this.#save({ ...record, ...(nodeNetwork && { nodeNetwork }) });
      return unsupported;
    } catch (error) {
      await this.#dismantle(id, cgroup).catch(() => {});
      await removeFolder(directory);
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

  /** A pod with the node's network has its host name too. */
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
          `sysctl ${name} would be set for the whole node: the pod has its ${network ? "network" : "IPC"}`,
        );
      return [path, value] as const;
    });
    // Any program may listen on any port, as upstream (containerd, enable_unprivileged_ports).
    if (!config.hostNetwork && !wanted.some(([path]) => path === unprivilegedPorts))
      wanted.push([unprivilegedPorts, "0"]);
    if (wanted.length === 0) return;
    const script = 'while [ $# -gt 0 ]; do printf %s "$2" >"/proc/sys/$1" || exit 1; shift 2; done';
    await runTool("nsenter", [
      ...(config.hostNetwork ? [] : [`--net=${this.#networkPath(id)}`]),
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
          ? this.#hostHosts(ip)
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

  /** The /etc/hosts of pods with the node's network. */
  #hostHosts(address: string): string {
    const { node, nodeName } = this.#options;
    return node.network === undefined ? machineHosts() : nodeHosts({ nodeName, address });
  }

  async #startProcess(id: string, config: SandboxConfig): Promise<void> {
    const { pid, ...joined } = this.#namespacesOf(id, config, this.#options.node.network !== undefined);
    if (pid !== undefined) writeFileSync(pid, "", { mode: 0o600 });
    const options = { network: "net", ipc: "ipc", uts: "uts" } as const;
    await startSandboxProcess({
      scripts: this.#options.directory,
      trace: this.#path(id, "holder"),
      enter: (["network", "ipc", "uts"] as const).flatMap((type) =>
        joined[type] === undefined ? [] : [`--${options[type]}=${joined[type]}`],
      ),
      pidNamespace: pid,
    });
  }

  /** Files of the name spaces that containers of a sandbox join. */
  namespaces(id: string): Readonly<Partial<Record<Namespace, string>>> {
    const record = this.#records.get(id);
    return record === undefined ? {} : this.#namespacesOf(id, record.config, record.nodeNetwork ?? false);
  }

  #namespacesOf(
    id: string,
    config: SandboxConfig,
    nodeNetwork: boolean,
  ): Readonly<Partial<Record<Namespace, string>>> {
    const { node } = this.#options;
    const ofNode =
      nodeNetwork && node.network !== undefined
        ? { network: node.network, uts: node.uts }
        : { uts: node.uts };
    return {
      ...(config.hostNetwork ? ofNode : { network: this.#networkPath(id), uts: this.#path(id, "uts") }),
      ...(config.hostIPC ? {} : { ipc: this.#path(id, "ipc") }),
      ...(config.shareProcessNamespace && !config.hostPID ? { pid: this.#path(id, "pid") } : {}),
    };
  }

  /**
   * Properties of a sandbox that runs for NRI plugins: name spaces of its own, each at a path as CRI-O has
   * them.
   *
   * Upstream: containerd, internal/cri/nri/nri_api_linux.go; CRI-O, internal/nri.
   */
  linux(id: string): LinuxSandbox | undefined {
    const record = this.#records.get(id);
    if (record === undefined || record.stopped) return undefined;
    const { config, cgroup } = record;
    const { network, uts, ...own } = this.namespaces(id);
    const paths = { ...own, ...(!config.hostNetwork && { network, uts }) };
    return {
      namespaces: [
        ...Object.entries(paths).map(([type, path]) => ({ type, path: this.#options.nodePath(path ?? "") })),
        ...(config.hostPID || paths.pid !== undefined ? [] : [{ type: "pid" }]),
        { type: "mount" },
      ],
      cgroupParent: cgroup,
      pid: this.#pid(id),
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
    const pid = this.#pid(id);
    if (pid > 0) signal(pid, "SIGKILL");
    await this.#options.network.remove(id, this.#networkPath(id));
    for (const name of ["ipc", "uts", "pid", "shm"])
      if (existsSync(this.#path(id, name))) await unmountAll(this.#path(id, name));
    const others = [...this.#records.values()].filter((record) => record.id !== id && !record.stopped);
    if (cgroup !== undefined && others.every((record) => record.cgroup !== cgroup))
      this.#options.cgroups.remove(cgroup);
  }

  async remove(id: string): Promise<void> {
    await this.#dismantle(id, this.#records.get(id)?.cgroup);
    await removeFolder(join(this.#folder, id));
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
