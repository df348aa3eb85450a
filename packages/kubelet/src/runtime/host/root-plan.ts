import {
  type BigIntStats,
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { identityOf, OpenEntry } from "../../base/open-entry.ts";
import type { MountConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";

/** A folder of the host that is mounted. */
interface Base {
  readonly path: string;
  /** Its device and inode, if pods can exchange the folder itself. */
  readonly identity?: string | undefined;
}

const machineRoot: Base = { path: "/" };

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
  /** Folder that is mounted and has `source` in it. */
  readonly base: Base;
  /** Device and inode of `source`, as `stat -c %d:%i` prints them; undefined for the machine's own files. */
  readonly identity?: string | undefined;
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
    /** Device and inode that have to be mounted, as in `Place`; undefined for the machine's own files. */
    readonly identity?: string | undefined;
  }[];
}

/** Devices that every container may use. */
const harmlessDevices = ["null", "zero", "full", "random", "urandom", "tty"];
const standardLinks = ["fd", "stdin", "stdout", "stderr"];

/** Type of a proc file system in statfs(2): runc lets no other one cover /proc (`checkProcMount`). */
const procMagic = 0x9fa0;

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
  root.children = hostEntries({
    ...directory(),
    source: "/",
    base: machineRoot,
    readOnly: view.files === "readOnly",
  });
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
  return { kind: "bind", source, readOnly, file, base: machineRoot, children: new Map() };
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

function names(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

/** The plan below a root, and the node's own folder on the host, in which mount points may be created. */
interface NodeTree {
  readonly root: Place;
  readonly ownRoot: string;
}

function directory(): Place {
  return {
    kind: "directory",
    source: "",
    readOnly: false,
    file: false,
    base: machineRoot,
    children: new Map(),
  };
}

function place(tree: NodeTree, mount: MountConfig): void {
  const stat = statOf(mount);
  const file = !stat.isDirectory();
  const identity = identityOf(stat);
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
      if (parent === tree.root && name === "proc" && statfsSync(mount.hostPath).type !== procMagic)
        throw problem(
          mount.containerPath,
          `only a proc file system can be there, and ${mount.hostPath} is not one`,
        );
      parent.children.set(name, {
        kind: "bind",
        source: mount.hostPath,
        readOnly: mount.readOnly,
        file,
        base: { path: mount.hostPath, identity: mount.identity },
        identity,
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
  const folder = openPlace(parent);
  let entry: OpenEntry | string | undefined;
  try {
    entry = folder.look(name);
    if (entry === undefined && !isOwn(parent.source, ownRoot)) return undefined;
    if (entry === undefined) {
      if (file) writeFileSync(folder.pathOf(name), "", { flag: "wx" });
      else mkdirSync(folder.pathOf(name));
      entry = folder.look(name);
    }
    if (entry === undefined) return undefined;
    const found = placeOf(parent, name, entry, "inside");
    parent.children.set(name, found);
    return found;
  } finally {
    folder.close();
    if (entry instanceof OpenEntry) entry.close();
  }
}

/** Opens a folder of the host; containers may exchange parts of its path below `base`. */
function openPlace({ base: { path, identity }, source }: Place): OpenEntry {
  const base = OpenEntry.open(identity === undefined ? realpathSync(path) : path);
  if (identity === undefined || base.identity === identity) return base.below(relative(path, source));
  base.close();
  throw exchanged(path);
}

function exchanged(path: string): RuntimeError {
  return new RuntimeError("RunContainerError", `cannot mount ${path}: it was exchanged meanwhile`);
}

function placeOf(parent: Place, name: string, entry: OpenEntry | string, kind: "bind" | "inside"): Place {
  const { base, readOnly } = parent;
  const children = new Map<string, Place>();
  if (typeof entry === "string")
    return { kind: "link", source: entry, readOnly: false, file: true, base, children };
  const identity = parent.identity === undefined ? undefined : entry.identity;
  const file = !entry.stat.isDirectory();
  const how = kind === "bind" && readOnly;
  return { kind, source: join(parent.source, name), readOnly: how, file, base, identity, children };
}

function isOwn(source: string, ownRoot: string): boolean {
  return source === ownRoot || source.startsWith(`${ownRoot}/`);
}

/** Turns a mounted directory into one of the skeleton, with its entries mounted one by one. */
function expand(here: Place, path: string): void {
  if (here.source === "/proc" || here.source.startsWith("/proc/"))
    throw problem(path, "nothing can be added to /proc");
  here.children = hostEntries(here);
  here.kind = "directory";
}

/** Entries of a folder of the host, each to be mounted, beside the known ones. */
function hostEntries(here: Place): Map<string, Place> {
  const entries = new Map(here.children);
  const folder = openPlace(here);
  try {
    for (const name of folder.names()) {
      const there = here.children.get(name);
      if (there !== undefined && there.kind !== "inside") continue;
      const entry = folder.look(name);
      if (entry === undefined) continue;
      const found = placeOf(here, name, entry, "bind");
      if (found.kind === "bind") found.children = there?.children ?? new Map();
      entries.set(name, found);
      if (entry instanceof OpenEntry) entry.close();
    }
  } finally {
    folder.close();
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
  const { source, readOnly, identity } = here;
  if (here.kind === "bind") plan.mounts.push({ source, target: path, readOnly, identity });
  for (const [name, next] of here.children) emit(next, join(path, name), here.kind === "directory", plan);
}

function statOf(mount: MountConfig): BigIntStats {
  const { hostPath, identity } = mount;
  if (identity === undefined) return lstatFollowing(hostPath, mount);
  const stat = lstatSync(hostPath, { bigint: true, throwIfNoEntry: false });
  // The inode of a folder that was removed may be that of a link by now.
  if (stat === undefined || stat.isSymbolicLink() || identityOf(stat) !== identity) throw exchanged(hostPath);
  return stat;
}

function lstatFollowing(path: string, mount: MountConfig): BigIntStats {
  for (let current = path, links = 0; links < 40; links++) {
    const stat = lstatSync(current, { bigint: true, throwIfNoEntry: false });
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
