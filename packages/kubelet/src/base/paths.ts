import { existsSync, symlinkSync } from "node:fs";
import { join, normalize } from "node:path";
import { makeFolderSync } from "@dray/files";
import { maxSocketPathBytes } from "@dray/rpc";

/**
 * Paths that belong to a node: pods and drivers that name them get files below the node's own root, so that
 * two nodes on one machine do not share them. All other paths (/dev, /sys, /usr, ...) are the machine's.
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

/** Maximum length of a driver's name for which the paths of its sockets are short enough, in bytes. */
const driverNameBytes = 20;

/** Directories of a node. */
export class NodePaths {
  readonly root: string;
  readonly kubelet: string;
  readonly plugins: string;
  readonly pluginsRegistry: string;
  readonly pods: string;
  readonly podLogs: string;
  /** The folders of CDI specs, lowest priority first. */
  readonly cdi: readonly string[];

  /** Throws if the paths of sockets below `rootDir` would be too long for the system. */
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
    const maxPath = join(this.pluginsRegistry, `${"x".repeat(driverNameBytes)}-reg.sock`);
    const over = Buffer.byteLength(maxPath) - maxSocketPathBytes;
    if (over > 0)
      throw new Error(
        `rootDir ${this.root} is too long: socket paths below it would exceed ${maxSocketPathBytes} bytes; ` +
          `choose one of at most ${Buffer.byteLength(this.root) - over} bytes`,
      );
  }

  /** Creates the folders that every node has. */
  create(): void {
    for (const path of [this.plugins, this.pluginsRegistry, join(this.kubelet, "device-plugins"), this.pods])
      makeFolderSync(path, 0o750);
    const run = join(this.root, "run");
    for (const path of [run, this.podLogs, join(this.root, "etc")]) makeFolderSync(path, 0o755);
    const varRun = join(this.root, "var/run");
    // As on every machine: both names lead to one folder.
    if (!existsSync(varRun)) symlinkSync("../run", varRun);
    for (const path of this.cdi) makeFolderSync(path, 0o755);
  }

  /** Returns true for the root and paths below it. */
  contains(path: string): boolean {
    return path === this.root || path.startsWith(this.root === "/" ? "/" : `${this.root}/`);
  }

  /** Returns true for a path that is the node's own, whether or not it exists. */
  owns(path: string): boolean {
    return nodePaths.some((own) => path === own || path.startsWith(`${own}/`));
  }

  /**
   * Maps a path of this machine to the node's: one below its root begins there. Those of /run begin with
   * /var/run, where pods mount them.
   */
  onNode(path: string): string {
    const onNode = this.contains(path) && this.root !== "/" ? path.slice(this.root.length) : path;
    return onNode.replace(/^\/run\//, "/var/run/");
  }

  /**
   * Maps a path that a pod, a driver or a CDI spec names to one of this machine: below the node's root if the
   * path is the node's or does not exist on the machine, else unchanged. A path below the root stays.
   */
  onMachine(path: string): string {
    const normal = normalize(path);
    if (this.contains(normal)) return normal;
    if (this.owns(normal) || !existsSync(normal)) return join(this.root, normal);
    return normal;
  }
}
