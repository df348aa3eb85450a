import { existsSync, symlinkSync } from "node:fs";
import { join, normalize } from "node:path";
import { makeFolderSync } from "@dray/files";
import { maxSocketPathBytes } from "@dray/rpc";

/**
 * Paths that belong to a node and not to the machine: what pods mean by them lies below the node's own root, so that
 * two nodes on one machine do not share it. Everything else (/dev, /sys, /usr, ...) is the machine's.
 */
const nodePaths = [
  "/var/lib",
  "/var/run",
  "/run",
  "/var/log",
  "/etc/cdi",
  "/etc/kubernetes",
  "/etc/cni",
  "/opt/cni",
] as const;

/** The longest name of a driver for which room is kept in the paths of its sockets. */
const driverNameBytes = 20;

/** Where a node keeps its files. */
export class NodePaths {
  readonly root: string;
  readonly kubelet: string;
  readonly plugins: string;
  readonly pluginsRegistry: string;
  readonly pods: string;
  readonly podLogs: string;
  /** The folders of CDI specs, lowest priority first. */
  readonly cdi: readonly string[];

  /** Throws if sockets below `rootDir` would have paths that the system cannot hold. */
  constructor(rootDir: string) {
    if (!rootDir.startsWith("/"))
      throw new Error(`rootDir ${JSON.stringify(rootDir)} must be an absolute path`);
    this.root = normalize(rootDir).replace(/\/+$/, "") || "/";
    this.kubelet = join(this.root, "var/lib/kubelet");
    this.plugins = join(this.kubelet, "plugins");
    this.pluginsRegistry = join(this.kubelet, "plugins_registry");
    this.pods = join(this.kubelet, "pods");
    this.podLogs = join(this.root, "var/log/pods");
    this.cdi = [join(this.root, "etc/cdi"), join(this.root, "var/run/cdi")];
    const longest = join(this.pluginsRegistry, `${"x".repeat(driverNameBytes)}-reg.sock`);
    const over = Buffer.byteLength(longest) - maxSocketPathBytes;
    if (over > 0)
      throw new Error(
        `rootDir ${this.root} is too long: socket paths below it would exceed ${maxSocketPathBytes} bytes; ` +
          `choose one of at most ${Buffer.byteLength(this.root) - over} bytes`,
      );
  }

  /** Makes the folders that are there on every node. */
  create(): void {
    for (const path of [this.plugins, this.pluginsRegistry, join(this.kubelet, "device-plugins"), this.pods])
      makeFolderSync(path, 0o750);
    const run = join(this.root, "run");
    for (const path of [run, this.podLogs, join(this.root, "etc")]) makeFolderSync(path, 0o755);
    const varRun = join(this.root, "var/run");
    // As on every machine, so that the two names mean one folder.
    if (!existsSync(varRun)) symlinkSync("../run", varRun);
    for (const path of this.cdi) makeFolderSync(path, 0o755);
  }

  /** Reports whether a path of the machine is the root or below it. */
  contains(path: string): boolean {
    return path === this.root || path.startsWith(this.root === "/" ? "/" : `${this.root}/`);
  }

  /** True for a path that is the node's own, whether or not it exists. */
  owns(path: string): boolean {
    return nodePaths.some((own) => path === own || path.startsWith(`${own}/`));
  }

  /**
   * The place on the machine of a path that a pod, a driver or a CDI spec names: the node's where the path is the
   * node's or the machine has no such path, else the machine's. A path that lies below the root already stays.
   */
  onMachine(path: string): string {
    const normal = normalize(path);
    if (this.contains(normal)) return normal;
    if (this.owns(normal) || !existsSync(normal)) return join(this.root, normal);
    return normal;
  }
}
