import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { eventuallyPasses } from "@dray/testing/eventually";
import { processesWith } from "./processes.ts";
import { withoutImage, writeImages } from "./test-image.ts";

/**
 * `DRAY_TEST_CONTAINERD` names a folder with containerd, its shim and ctr; else they are looked for on the
 * PATH.
 */
const folders = [
  process.env["DRAY_TEST_CONTAINERD"],
  join(homedir(), ".cache/dray-peers-1.36/bin"),
  ...(process.env["PATH"] ?? "").split(delimiter),
].filter((each) => each !== undefined);
const folder = folders.find((each) => existsSync(join(each, "containerd")));
const plugins = ["/usr/lib/cni", "/opt/cni/bin"].filter((each) => existsSync(each));

/** Why tests with containerd cannot run here; undefined if they can. */
export const withoutContainerd = ((): string | undefined => {
  if (process.getuid?.() !== 0) return "containerd: needs root";
  if (folder === undefined) return "containerd: missing (2.0 or later, with ctr and its shim)";
  const { stdout } = spawnSync(join(folder, "containerd"), ["--version"], { encoding: "utf8" });
  if (!/ v?2\.\d+/.test(stdout)) return `containerd: too old: ${stdout.trim()}`;
  if (spawnSync("runc", ["--version"]).status !== 0) return "containerd: runc is missing (Debian: runc)";
  if (plugins.length === 0)
    return "containerd: CNI plugins are missing (Debian: containernetworking-plugins)";
  return withoutImage === undefined ? undefined : `containerd: ${withoutImage}`;
})();

/** An image with busybox whose program is a shell. */
export const testImage = "localhost/dray/busybox:test";

/** A containerd with data, network and cgroups of its own. */
export class TestContainerd {
  /** Folder of everything that it writes; made by `start`. */
  readonly folder: string = `/tmp/dc-${randomBytes(4).toString("hex")}`;
  readonly socket: string = join(this.folder, "containerd.sock");
  /** Parent of the cgroups of pods. */
  readonly cgroupRoot: string = `/dray-test-${process.pid}-${Date.now() % 1e6}`;
  /** Folder of CDI specs. */
  readonly cdi: string = join(this.folder, "cdi");
  #child: ChildProcess | undefined;

  /** Writes its configuration, starts it and imports the image. */
  async start(): Promise<void> {
    const { folder: here, cdi } = this;
    for (const each of ["cni", "cdi"]) mkdirSync(join(here, each), { recursive: true });
    // A pair of interfaces for each pod, without a bridge or rules.
    const subnet = `10.${200 + (process.pid % 50)}.${Date.now() % 250}.0/24`;
    const ipam = { type: "host-local", dataDir: join(here, "ipam"), ranges: [[{ subnet }]] };
    const network = { cniVersion: "1.0.0", name: "test", plugins: [{ type: "ptp", ipam }] };
    writeFileSync(join(here, "cni/10-test.conflist"), JSON.stringify(network));
    writeFileSync(
      join(here, "config.toml"),
      `version = 3
root = "${here}/root"
state = "${here}/state"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt"]
[grpc]
address = "${this.socket}"
[ttrpc]
address = "${this.socket}.ttrpc"
[plugins."io.containerd.cri.v1.images"]
snapshotter = "native"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "localhost/dray/sandbox:test"
[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
cdi_spec_dirs = ["${cdi}"]
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ${JSON.stringify(plugins)}
conf_dir = "${here}/cni"
`,
    );
    await this.run();
    const tar = join(here, "images.tar");
    writeImages(tar, [
      { name: testImage, config: { Cmd: ["sh"] } },
      { name: "localhost/dray/user:test", config: { Cmd: ["sh"], User: "1234" } },
      { name: "localhost/dray/sandbox:test", config: { Entrypoint: ["sleep", "infinity"] } },
    ]);
    const ctr = [
      "-a",
      this.socket,
      "-n",
      "k8s.io",
      "images",
      "import",
      "--local",
      "--snapshotter",
      "native",
      tar,
    ];
    execFileSync(join(folder ?? "", "ctr"), ctr, { stdio: "ignore" });
  }

  /** Starts the program with existing state. */
  async run(): Promise<void> {
    const child = spawn(join(folder ?? "", "containerd"), ["--config", join(this.folder, "config.toml")], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, PATH: [folder, process.env["PATH"]].join(delimiter) },
    });
    const log = join(this.folder, "log");
    for (const output of [child.stdout, child.stderr])
      output.on("data", (chunk: Buffer) => appendFileSync(log, chunk));
    this.#child = child;
    await eventuallyPasses(async () => {
      if (child.exitCode !== null)
        throw new Error(`containerd ended: ${readFileSync(log, "utf8").slice(-2000)}`);
      execFileSync(join(folder ?? "", "ctr"), ["-a", this.socket, "version"], { stdio: "ignore" });
    });
  }

  /** Ends the program; its containers run on. */
  async end(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await ended;
    this.#child = undefined;
  }

  /** Ends it with all its containers, and removes everything that it made. */
  async close(): Promise<void> {
    await this.end();
    const shims = () => processesWith("-address", this.socket);
    for (const { pid } of shims()) process.kill(pid, "SIGKILL");
    const groups = () =>
      execFileSync("find", ["/sys/fs/cgroup", "-depth", "-path", `*${this.cgroupRoot}*`, "-type", "d"], {
        encoding: "utf8",
      })
        .split("\n")
        .filter((each) => each !== "");
    await eventuallyPasses(async () => {
      for (const group of groups()) {
        const pids = readFileSync(join(group, "cgroup.procs"), "utf8").split("\n").filter(Boolean);
        for (const pid of pids) process.kill(Number(pid), "SIGKILL");
        rmdirSync(group);
      }
    });
    const mounts = readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .map((line) => line.split(" ")[4] ?? "")
      .filter((path) => path.startsWith(`${this.folder}/`));
    for (const path of mounts.reverse()) spawnSync("umount", ["-l", path]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
