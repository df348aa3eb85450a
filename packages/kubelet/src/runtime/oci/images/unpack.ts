import { constants, type Stats } from "node:fs";
import {
  chmod,
  chown,
  lchown,
  link,
  lstat,
  lutimes,
  mkdir,
  open,
  readdir,
  readlink,
  rm,
  symlink,
} from "node:fs/promises";
import { find } from "../../host/isolation.ts";
import { runTool } from "../tools.ts";
import type { DiskRoom } from "./disk-room.ts";
import { type FolderAttributes, LayerPaths } from "./layer-paths.ts";
import { shown, type TarEntry, TarError } from "./tar.ts";
import { tarEnd, tarHeader, tarPadding } from "./tar-write.ts";

/** A layer cannot be unpacked: it would leave its root, or is invalid. */
class LayerError extends Error {
  override readonly name = "LayerError";
}

export interface UnpackOptions {
  /** False if the process may not change owners: files stay its own, and devices are omitted. */
  readonly owners: boolean;
  /** Stops before the disk is full. */
  readonly room: Pick<DiskRoom, "take">;
  readonly signal?: AbortSignal | undefined;
}

/** Maximum number of entries of a layer, which take memory until its end; large images have 500,000. */
const maxEntries = 2_000_000;

const whiteout = ".wh.";
const opaque = ".wh..wh..opq";
/** Maximum number of symbolic links in one path, as in Linux. */
const maxLinks = 40;

/**
 * Unpacks a layer over what the layers below it have left in `root` (OCI image specification, layer.md):
 * whiteouts remove, hard links stay within the root, and no symbolic link in a path leads out of it: links
 * are followed as a process in the root would follow them. Throws LayerError or TarError. Nobody may change
 * the root meanwhile.
 *
 * Files of lower layers are replaced, never written to: they may be hard links of another snapshot.
 */
export async function unpackLayer(
  root: string,
  entries: AsyncIterable<TarEntry>,
  options: UnpackOptions,
): Promise<void> {
  const layer = new Layer(root, options);
  let count = 0;
  for await (const entry of entries) {
    options.signal?.throwIfAborted();
    if (++count > maxEntries) throw new LayerError(`it has more than ${maxEntries} files`);
    await layer.add(entry);
  }
  await layer.end();
}

/** Paths are latin1 text of bytes: names in an image need not be UTF-8. */
const bytes = (path: string): Buffer => Buffer.from(path, "latin1");

class Layer {
  readonly #root: string;
  readonly #owners: boolean;
  readonly #options: UnpackOptions;
  /**
   * Paths that this layer has made: an opaque folder hides only those of lower layers. Folders get their mode
   * and times at the end.
   */
  readonly #made = new LayerPaths();
  /** Folders whose lower layers are hidden. */
  readonly #opaque = new Set<string>();
  /** Resolved paths of parents. */
  readonly #parents = new Map<string, string>();

  constructor(root: string, options: UnpackOptions) {
    this.#root = Buffer.from(root).toString("latin1");
    this.#owners = options.owners;
    this.#options = options;
  }

  async add(entry: TarEntry): Promise<void> {
    try {
      await this.#add(entry);
    } catch (error) {
      if (error instanceof LayerError || error instanceof TarError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      throw new LayerError(`cannot unpack ${shown(entry.name)}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  async #add(entry: TarEntry): Promise<void> {
    const parts = split(entry.name);
    const name = parts.pop();
    if (name === undefined) {
      if (entry.type === "directory") this.#made.add([], attributesOf(entry));
      return;
    }
    const parent = await this.#parent(parts, true);
    if (name === opaque) return this.#hideAll(parent);
    if (name.startsWith(whiteout)) {
      const hidden = name.slice(whiteout.length);
      // Other marks of AUFS are ignored.
      if (hidden.startsWith(whiteout)) return;
      if (hidden === "" || hidden === "." || hidden === "..")
        throw new LayerError(`the whiteout ${shown(entry.name)} names no file`);
      return this.#remove(`${parent}/${hidden}`);
    }
    const path = `${parent}/${name}`;
    const existing = await look(path);
    if (existing !== undefined && !(existing.isDirectory() && entry.type === "directory"))
      await this.#remove(path);
    await this.#options.room.take(0, 1);
    await this.#make(path, entry, existing);
    // Including its ancestors: an opaque folder keeps them too.
    this.#made.add(this.#parts(path), entry.type === "directory" ? attributesOf(entry) : undefined);
  }

  /** Names of a path below the root. */
  #parts(path: string): string[] {
    return path
      .slice(this.#root.length + 1)
      .split("/")
      .filter(Boolean);
  }

  async #make(path: string, entry: TarEntry, existing: Stats | undefined): Promise<void> {
    const { mode, mtime } = entry;
    switch (entry.type) {
      case "directory":
        if (!existing?.isDirectory()) await mkdir(bytes(path), 0o700);
        return;
      case "file":
        await this.#writeFile(path, entry);
        return;
      case "link": {
        const parts = split(entry.linkName);
        const name = parts.pop();
        const target = name === undefined ? undefined : `${await this.#parent(parts, false)}/${name}`;
        if (target === undefined || (await look(target)) === undefined)
          throw new LayerError(
            `${shown(entry.name)} is a hard link to ${shown(entry.linkName)}, which the image does not have`,
          );
        await link(bytes(target), bytes(path));
        return;
      }
      case "symlink":
        if (entry.linkName === "") throw new LayerError(`the symbolic link ${shown(entry.name)} is empty`);
        await symlink(bytes(entry.linkName), bytes(path));
        this.#parents.clear();
        if (this.#owners) await lchown(bytes(path), entry.uid, entry.gid);
        await lutimes(bytes(path), mtime, mtime);
        return;
      default:
        if (!this.#owners) return;
        await makeNode(path, entry);
        await chown(bytes(path), entry.uid, entry.gid);
        await chmod(bytes(path), mode);
        await lutimes(bytes(path), mtime, mtime);
    }
  }

  async #writeFile(path: string, entry: TarEntry): Promise<void> {
    const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW } = constants;
    const file = await open(bytes(path), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
    try {
      for await (const chunk of entry.content) {
        await this.#options.room.take(chunk.length);
        this.#options.signal?.throwIfAborted();
        await file.writeFile(chunk);
      }
      if (this.#owners) await file.chown(entry.uid, entry.gid);
      // After the owner, whose change clears set-user-ID.
      await file.chmod(entry.mode);
      await file.utimes(entry.mtime, entry.mtime);
    } finally {
      await file.close();
    }
    const xattrs = new Map([...entry.xattrs].filter(([name]) => isWanted(name)));
    if (this.#owners && xattrs.size > 0) await writeWithXattrs(path, entry, xattrs);
  }

  /** Resolves a folder without links; creates it with `make`. */
  async #parent(parts: readonly string[], make: boolean): Promise<string> {
    const key = parts.join("/");
    const known = this.#parents.get(key);
    if (known !== undefined) return known;
    let left = [...parts];
    const resolved: string[] = [];
    let links = 0;
    for (let part = left.shift(); part !== undefined; part = left.shift()) {
      if (part === "" || part === ".") continue;
      if (part === "..") {
        // Only links have these; the root is its own parent.
        resolved.pop();
        continue;
      }
      const path = [this.#root, ...resolved, part].join("/");
      const found = await look(path);
      if (found?.isSymbolicLink()) {
        if (++links > maxLinks) throw new LayerError(`${shown(key)}: too many symbolic links`);
        const target = (await readlink(bytes(path), "latin1")) as string;
        if (target.startsWith("/")) resolved.length = 0;
        left = [...target.split("/"), ...left];
        continue;
      }
      if (found === undefined) {
        if (!make) throw new LayerError(`${shown(key)} is not in the image`);
        await mkdir(bytes(path), 0o755);
      } else if (!found.isDirectory()) throw new LayerError(`${shown(key)}: ${shown(part)} is not a folder`);
      resolved.push(part);
    }
    const place = [this.#root, ...resolved].join("/");
    this.#parents.set(key, place);
    return place;
  }

  async #remove(path: string): Promise<void> {
    await rm(bytes(path), { recursive: true, force: true });
    this.#parents.clear();
    this.#made.remove(this.#parts(path));
  }

  /** Removes entries of lower layers in a folder. */
  async #hideAll(folder: string): Promise<void> {
    // Once is enough: what comes later is this layer's own.
    if (this.#opaque.has(folder)) return;
    this.#opaque.add(folder);
    for (const name of await readdir(bytes(folder), "latin1")) {
      const path = `${folder}/${name}`;
      if (!this.#made.has(this.#parts(path))) await this.#remove(path);
      else if ((await look(path))?.isDirectory()) await this.#hideAll(path);
    }
  }

  /** Sets modes and times of folders, the deepest first. */
  async end(): Promise<void> {
    for (const [parts, { uid, gid, mode, mtime }] of this.#made.folders()) {
      const path = [this.#root, ...parts].join("/");
      if (this.#owners) await lchown(bytes(path), uid, gid);
      await chmod(bytes(path), mode);
      await lutimes(bytes(path), mtime, mtime);
    }
  }
}

/** The rest of an entry would keep its part of the archive in memory. */
function attributesOf({ mode, uid, gid, mtime }: TarEntry): FolderAttributes {
  return { mode, uid, gid, mtime };
}

/** Splits a name. An absolute one begins at the root too. */
function split(name: string): string[] {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw new LayerError(`${shown(name)} leads out of the image`);
  return parts;
}

async function look(path: string): Promise<Stats | undefined> {
  return lstat(bytes(path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

/** Node can make neither devices nor pipes. */
async function makeNode(path: string, { name, type, major, minor }: TarEntry): Promise<void> {
  const text = bytes(path).toString("utf8");
  if (!bytes(path).equals(Buffer.from(text)))
    throw new LayerError(`the device ${shown(name)} has a name that is not UTF-8`);
  if (type === "fifo") return void (await runTool("mknod", ["-m", "600", "--", text, "p"]));
  if (type === "character" && major === 0 && minor === 0)
    throw new LayerError(
      `the device ${shown(name)} has the numbers 0 and 0, with which overlayfs marks what is removed`,
    );
  await runTool("mknod", ["-m", "600", "--", text, type === "block" ? "b" : "c", `${major}`, `${minor}`]);
}

/** Attributes of overlayfs and of security modules belong to this machine, not to the image. */
function isWanted(name: string): boolean {
  return name === "security.capability" || (name.startsWith("user.") && !name.startsWith("user.overlay."));
}

/** Node cannot set attributes, and GNU tar can: it makes the file in a folder that was checked. */
async function writeWithXattrs(
  path: string,
  entry: TarEntry,
  xattrs: ReadonlyMap<string, Buffer>,
): Promise<void> {
  if (!(await hasGnuTar())) return;
  const slash = path.lastIndexOf("/");
  const folder = bytes(path.slice(0, slash)).toString("utf8");
  if (!bytes(path.slice(0, slash)).equals(Buffer.from(folder))) return;
  const name = path.slice(slash + 1);
  const { size, uid, gid, mode, mtime } = entry;
  async function* archive(): AsyncGenerator<Buffer> {
    const file = await open(bytes(path), constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      yield tarHeader({ name: `./${name}`, type: "file", size, uid, gid, mode, mtime, xattrs });
      yield* file.createReadStream({ autoClose: false });
    } finally {
      await file.close();
    }
    yield tarPadding(size);
    yield tarEnd;
  }
  const options = [
    "--xattrs",
    "--xattrs-include=*",
    "--numeric-owner",
    "--same-owner",
    "--preserve-permissions",
  ];
  await runTool("tar", ["-x", ...options, "--no-selinux", "-C", folder, "-f", "-"], { input: archive() });
}

let gnuTar: Promise<boolean> | undefined;

function hasGnuTar(): Promise<boolean> {
  gnuTar ??=
    find("tar") === undefined
      ? Promise.resolve(false)
      : runTool("tar", ["--version"]).then(
          (text) => text.includes("GNU tar"),
          () => false,
        );
  return gnuTar;
}
