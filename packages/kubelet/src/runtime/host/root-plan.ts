import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { makeFolderSync } from "@dray/files";
import type { MountConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";

/** A node of the container's tree. */
interface Place {
  /**
   * `directory`: of the skeleton itself. `link`: a symbolic link of the skeleton. `bind`: mounted from
   * `source`. `inside`: exists within the mount that contains it.
   */
  kind: "directory" | "link" | "bind" | "inside";
  /** Path on the host; target of a link. */
  readonly source: string;
  readonly readOnly: boolean;
  readonly file: boolean;
  children: Map<string, Place>;
}

/** Which files and devices of the machine a container sees, and how. */
export interface RootView {
  /** Its files are writable by their permissions, or read-only. */
  readonly files: "writable" | "readOnly";
  /** All devices and a writable /proc; or only harmless devices. */
  readonly devices: "all" | "harmless";
  /** The root folder itself is read-only. */
  readonly readOnlyRoot: boolean;
}

/** Everything that the machine has. */
const wholeMachine: RootView = { files: "writable", devices: "all", readOnlyRoot: false };

/** A planned root directory: the skeleton, and the mounts in order. */
export interface RootPlan {
  readonly directories: readonly string[];
  /** Directories that represent one of the machine, with its owner and permissions. */
  readonly copies: readonly (readonly [path: string, source: string])[];
  readonly files: readonly string[];
  readonly links: readonly (readonly [path: string, target: string])[];
  readonly mounts: readonly {
    readonly source: string;
    readonly target: string;
    readonly readOnly: boolean;
  }[];
}

/** Devices that every container may use. */
const harmlessDevices = ["null", "zero", "full", "random", "urandom", "tty"];
const standardLinks = ["fd", "stdin", "stdout", "stderr"];

/** Read-only and masked paths of /proc (OCI runtimes: `readonlyPaths`, `maskedPaths`). */
const readOnlyProc = ["sys", "sysrq-trigger", "irq", "bus", "fs"];
const maskedProc = ["kcore", "keys", "timer_list", "sched_debug"];

/**
 * Plans the root directory of a container on the host runtime: the host's own root, each of its entries
 * mounted into a skeleton, with the container's mounts over it. If the host lacks a mount point, the
 * directories on the way to it become part of the skeleton, and the host's entries in them are mounted one by
 * one, so that nothing is ever created on the host. Mount points below `ownRoot` are the node's and are
 * created.
 */
export function planRoot(
  mounts: readonly MountConfig[],
  ownRoot: string,
  view: RootView = wholeMachine,
): RootPlan {
  const root = directory();
  root.children = hostEntries("/", new Map(), view.files === "readOnly");
  const proc = bind("/proc", false);
  root.children.set("proc", proc);
  if (view.devices === "harmless") {
    root.children.set("dev", harmless());
    for (const [names, source, readOnly] of [
      [readOnlyProc, undefined, true],
      [maskedProc, "/dev/null", false],
    ] as const)
      for (const name of names)
        if (existsSync(`/proc/${name}`)) proc.children.set(name, bind(source ?? `/proc/${name}`, readOnly));
  } else root.children.set("dev", bind("/dev", false));
  const sorted = mounts
    .map((mount, index) => ({ mount, index, depth: names(mount.containerPath).length }))
    .sort((a, b) => a.depth - b.depth || a.index - b.index);
  for (const { mount } of sorted) place({ root, ownRoot }, mount);
  const plan: MutablePlan = { directories: [], copies: [], files: [], links: [], mounts: [] };
  emit(root, "/", true, plan);
  return plan;
}

type MutablePlan = { -readonly [K in keyof RootPlan]: RootPlan[K][number][] };

function bind(source: string, readOnly: boolean): Place {
  const file = !statSync(source).isDirectory();
  return { kind: "bind", source, readOnly, file, children: new Map() };
}

/** /dev of a container without the machine's devices. */
function harmless(): Place {
  const place = directory();
  for (const name of harmlessDevices)
    if (existsSync(`/dev/${name}`)) place.children.set(name, bind(`/dev/${name}`, false));
  const link = (source: string): Place => ({ ...directory(), kind: "link", source, file: true });
  for (const name of standardLinks)
    place.children.set(name, link(name === "fd" ? "/proc/self/fd" : `fd/${standardLinks.indexOf(name) - 1}`));
  place.children.set("ptmx", link("pts/ptmx"));
  // Terminals of `kubectl exec` are the machine's; their permissions exclude other users.
  if (existsSync("/dev/pts")) place.children.set("pts", bind("/dev/pts", false));
  return place;
}

/**
 * Makes the skeleton of a plan below `directory`, and the table from which `mount -a` mounts the rest. With
 * `ownProc` /proc shows the processes of the pid name space in which it is mounted.
 */
export function writeRoot(plan: RootPlan, directory: string, ownProc: boolean): string {
  makeFolderSync(directory);
  for (const path of plan.directories) makeFolderSync(join(directory, path));
  if (process.getuid?.() === 0)
    for (const [path, source] of plan.copies) {
      const { mode, uid, gid } = statSync(source);
      chownSync(join(directory, path), uid, gid);
      chmodSync(join(directory, path), mode & 0o7777);
    }
  for (const path of plan.files) writeFileSync(join(directory, path), "", { flag: "a" });
  for (const [path, target] of plan.links) symlinkSync(target, join(directory, path));
  const lines = [`${field(directory)} ${field(directory)} none bind 0 0`];
  const table = plan.mounts.some(({ readOnly }) => readOnly) ? mountTable() : [];
  for (const { source, target, readOnly } of plan.mounts) {
    if (ownProc && source === "/proc" && target === "/proc") {
      lines.push(`proc ${field(join(directory, target))} proc defaults 0 0`);
      continue;
    }
    const options = readOnly ? ["rbind", "ro", ...kept(source, table)] : ["rbind"];
    // An entry of the machine's own folders may be removed meanwhile, as in /run.
    if (source === target) options.push("nofail");
    lines.push(`${field(source)} ${field(join(directory, target))} none ${options.join()} 0 0`);
    if (readOnly) for (const line of readOnlyBelow(source, join(directory, target), table)) lines.push(line);
  }
  return `${lines.join("\n")}\n`;
}

/** Mounts below a read-only mount stay writable by themselves (mount(8), "ro"). */
function readOnlyBelow(source: string, target: string, table: readonly MountPoint[]): string[] {
  const path = realpathSync(source);
  const prefix = path === "/" ? "/" : `${field(path)}/`;
  return table
    .filter(({ point, type }) => point.startsWith(prefix) && !foreign.test(type))
    .map(({ point, options }) => {
      // Mounts below it have lines of their own; in a user name space they cannot be left out.
      const how = process.getuid?.() === 0 ? "bind" : "rbind";
      const flags = [how, "ro", ...options.filter((option) => locked.includes(option)), "nofail"];
      return `${point} ${field(target)}/${point.slice(prefix.length)} none ${flags.join()} 0 0`;
    });
}

/** File systems that only their owner may read, or that reading would mount. */
const foreign = /^(?:fuse.*|autofs)$/;

/** A mount point with its options. */
interface MountPoint {
  readonly type: string;
  readonly point: string;
  readonly options: readonly string[];
}

function mountTable(): MountPoint[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [before = "", after = ""] = line.split(" - ");
      const [, , , , point = "", options = ""] = before.split(" ");
      return { point, options: options.split(","), type: after.split(" ")[0] ?? "" };
    });
}

/** Options that a user name space must keep. */
const locked = ["nosuid", "nodev", "noexec", "noatime", "nodiratime"];

/** Options that a user name space must keep in a read-only mount, or the kernel refuses. */
function kept(source: string, table: readonly MountPoint[]): string[] {
  const path = field(realpathSync(source));
  const enclosing = table
    .filter(({ point }) => path === point || path.startsWith(point === "/" ? "/" : `${point}/`))
    .reduce<MountPoint | undefined>(
      (best, one) => (best === undefined || one.point.length >= best.point.length ? one : best),
      undefined,
    );
  return (enclosing?.options ?? []).filter((option) => locked.includes(option));
}

/** Octal escapes of fstab(5). */
function field(path: string): string {
  return path.replace(/[\s\\#]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

function names(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

/** The plan below a root, and the node's own folder on the host, in which mount points may be created. */
interface NodeTree {
  readonly root: Place;
  readonly ownRoot: string;
}

function directory(): Place {
  return { kind: "directory", source: "", readOnly: false, file: false, children: new Map() };
}

function place(tree: NodeTree, mount: MountConfig): void {
  const file = !lstatFollowing(mount.hostPath, mount).isDirectory();
  let path = names(mount.containerPath);
  // The first walk only reads; if it finds a mount point missing, the next one expands the way to it.
  let expanding = false;
  for (let links = 0; links <= 40; ) {
    const end = walk(tree, path, file, expanding);
    if (end === "missing") expanding = true;
    else if (Array.isArray(end)) {
      path = end;
      links++;
    } else {
      const { parent, name } = end;
      const there = parent.children.get(name);
      if (there !== undefined && there.file !== file)
        throw problem(mount.containerPath, `${there.file ? "a file" : "a directory"} is there already`);
      parent.children.set(name, {
        kind: "bind",
        source: mount.hostPath,
        readOnly: mount.readOnly,
        file,
        children: new Map(),
      });
      return;
    }
  }
  throw problem(mount.containerPath, "too many symbolic links");
}

function problem(path: string, text: string): RuntimeError {
  return new RuntimeError("RunContainerError", `cannot mount at ${path}: ${text}`);
}

/**
 * Walks to the last name of `path`. Returns the place that contains it, another path after a symbolic link,
 * or `missing` if the host lacks a part of the way and `expanding` is not set.
 */
function walk(
  { root, ownRoot }: NodeTree,
  path: readonly string[],
  file: boolean,
  expanding: boolean,
): "missing" | string[] | { readonly parent: Place; readonly name: string } {
  const shown = `/${path.join("/")}`;
  let here = root;
  for (const [index, name] of path.entries()) {
    if (here.file) throw problem(shown, `/${path.slice(0, index).join("/")} is a file`);
    if (name === "..") return path.toSpliced(Math.max(index - 1, 0), index === 0 ? 1 : 2);
    const last = index === path.length - 1;
    const found = child(here, name, last && file, ownRoot);
    if (found?.kind === "link") {
      const start = found.source.startsWith("/") ? [] : path.slice(0, index);
      return [...start, ...names(found.source), ...path.slice(index + 1)];
    }
    if (found === undefined && here.kind !== "directory" && !expanding) return "missing";
    if (expanding && here.kind !== "directory" && !isOwn(here.source, ownRoot)) expand(here, shown);
    if (last) return { parent: here, name };
    const next = here.children.get(name) ?? directory();
    here.children.set(name, next);
    here = next;
  }
  throw problem(shown, "the root directory itself cannot be mounted over");
}

/** Returns the place of a name: known already, on the host, or created in the node's own folders. */
function child(parent: Place, name: string, file: boolean, ownRoot: string): Place | undefined {
  const known = parent.children.get(name);
  if (known !== undefined || parent.kind === "directory") return known;
  const source = join(parent.source, name);
  let stat = lstatSync(source, { throwIfNoEntry: false });
  if (stat === undefined) {
    if (!isOwn(parent.source, ownRoot)) return undefined;
    if (file) writeFileSync(source, "");
    else mkdirSync(source);
    stat = lstatSync(source);
  }
  const found: Place = stat.isSymbolicLink()
    ? { kind: "link", source: readlinkSync(source), readOnly: false, file: true, children: new Map() }
    : { kind: "inside", source, readOnly: false, file: !stat.isDirectory(), children: new Map() };
  parent.children.set(name, found);
  return found;
}

function isOwn(source: string, ownRoot: string): boolean {
  return source === ownRoot || source.startsWith(`${ownRoot}/`);
}

/** Turns a mounted directory into one of the skeleton, with its entries mounted one by one. */
function expand(here: Place, path: string): void {
  if (here.source === "/proc" || here.source.startsWith("/proc/"))
    throw problem(path, "nothing can be added to /proc");
  here.children = hostEntries(here.source, here.children, here.readOnly);
  here.kind = "directory";
}

function hostEntries(
  source: string,
  known: ReadonlyMap<string, Place>,
  readOnly: boolean,
): Map<string, Place> {
  const entries = new Map(known);
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    const there = known.get(entry.name);
    if (there !== undefined && there.kind !== "inside") continue;
    const path = join(source, entry.name);
    entries.set(
      entry.name,
      entry.isSymbolicLink()
        ? { kind: "link", source: readlinkSync(path), readOnly: false, file: true, children: new Map() }
        : {
            kind: "bind",
            source: path,
            readOnly,
            file: !entry.isDirectory(),
            children: there?.children ?? new Map(),
          },
    );
  }
  return entries;
}

function emit(here: Place, path: string, inSkeleton: boolean, plan: MutablePlan): void {
  if (here.kind === "link") {
    if (inSkeleton) plan.links.push([path, here.source]);
    return;
  }
  if (inSkeleton) (here.file ? plan.files : plan.directories).push(path);
  if (here.kind === "directory" && here.source !== "") plan.copies.push([path, here.source]);
  if (here.kind === "bind") plan.mounts.push({ source: here.source, target: path, readOnly: here.readOnly });
  for (const [name, next] of here.children) emit(next, join(path, name), here.kind === "directory", plan);
}

function lstatFollowing(path: string, mount: MountConfig): Stats {
  for (let current = path, links = 0; links < 40; links++) {
    const stat = lstatSync(current, { throwIfNoEntry: false });
    if (stat === undefined)
      throw new RuntimeError(
        "RunContainerError",
        `cannot mount ${path} at ${mount.containerPath}: ${current} does not exist`,
      );
    if (!stat.isSymbolicLink()) return stat;
    const target = readlinkSync(current);
    current = target.startsWith("/") ? target : join(dirname(current), target);
  }
  throw new RuntimeError("RunContainerError", `${path}: too many symbolic links`);
}

/**
 * Removes a directory in which roots were made. Its mounts are never visible outside their name spaces; if
 * one is all the same, nothing is removed, since the files below it would be the host's.
 */
export function removeRoot(directory: string): void {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const path = field(directory);
  const mounted = mounts.find((line) => {
    const point = line.split(" ")[4];
    return point === path || point?.startsWith(`${path}/`);
  });
  if (mounted !== undefined)
    throw new Error(`${directory} is not removed because something is mounted in it: ${mounted}`);
  rmSync(directory, { recursive: true, force: true });
}
