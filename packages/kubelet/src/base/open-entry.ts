import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
} from "node:fs";
import { join } from "node:path";

/** O_PATH of Linux (asm-generic/fcntl.h), which Node does not name: opens nothing but the place itself. */
const O_PATH = 0o10000000;

const isLinux = process.platform === "linux";

/** Maximum number of times that an entry is looked up again because it was exchanged meanwhile. */
const maxLooks = 40;

/**
 * A file, folder or link that is held open: it stays the same one whatever a pod puts in its place. Its
 * children are looked up from it, as openat(2) does, and never through links. On systems without /proc it is
 * a path only.
 */
export class OpenEntry {
  readonly stat: BigIntStats;
  readonly #descriptor: number | undefined;
  readonly #place: string;

  private constructor(place: string) {
    if (isLinux) {
      this.#descriptor = openSync(place, O_PATH | constants.O_NOFOLLOW);
      this.#place = `/proc/self/fd/${this.#descriptor}`;
      this.stat = fstatSync(this.#descriptor, { bigint: true });
    } else {
      this.#place = place;
      this.stat = lstatSync(place, { bigint: true });
    }
  }

  /** Opens a path whose folders no pod can exchange. Throws the system's error. */
  static open(path: string): OpenEntry {
    return new OpenEntry(path);
  }

  /**
   * Opens a relative path below this folder without following links, and closes the folder. Throws the
   * system's error (ENOTDIR for a link in the way).
   */
  below(path: string): OpenEntry {
    let here: OpenEntry = this;
    for (const name of path.split("/").filter(Boolean)) {
      const next = here.#use(() => new OpenEntry(here.pathOf(name)));
      here.close();
      here = next;
    }
    return here;
  }

  #use<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Descriptor for programs that inherit it; undefined without /proc. */
  get descriptor(): number | undefined {
    return this.#descriptor;
  }

  /** Path of the entry at this moment. */
  get currentPath(): string {
    return this.#descriptor === undefined ? this.#place : readlinkSync(this.#place);
  }

  /** Device and inode, as `stat -c %d:%i` prints them. */
  get identity(): string {
    return identityOf(this.stat);
  }

  /** A path of a child for calls of this process that do not follow links. */
  pathOf(name: string): string {
    return join(this.#place, name);
  }

  /** Opens a child. Returns the target of a link as text, and undefined for a missing child. */
  look(name: string): OpenEntry | string | undefined {
    for (let looks = 1; ; looks++)
      try {
        const entry = new OpenEntry(this.pathOf(name));
        if (!entry.stat.isSymbolicLink()) return entry;
        entry.close();
        return readlinkSync(this.pathOf(name));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === "ENOENT") return undefined;
        // It is not a link any more.
        if (code !== "EINVAL" || looks >= maxLooks) throw error;
      }
  }

  /**
   * Makes a folder with exactly this mode. Does nothing if there is a child of the name already.
   *
   * Upstream: pkg/volume/util/subpath/subpath_linux.go, doSafeMakeDir.
   */
  makeFolder(name: string, mode: number): void {
    try {
      mkdirSync(this.pathOf(name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
      throw error;
    }
    const made = this.look(name);
    if (!(made instanceof OpenEntry)) return;
    try {
      // The umask must not apply. Another folder may be in its place by now: one of somebody else stays.
      if (made.stat.isDirectory() && Number(made.stat.uid) === process.getuid?.()) made.#changeMode(mode);
    } finally {
      made.close();
    }
  }

  #changeMode(mode: number): void {
    // A path by descriptor leads to this folder, through no other name.
    chmodSync(this.#place, mode);
  }

  /** Reads a regular file, at most `maxBytes` of it. Throws an Error for anything else. */
  read(maxBytes: number): Buffer {
    if (!this.stat.isFile()) throw new Error(`${this.currentPath} is not a regular file`);
    const file = openSync(this.#place, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(Math.min(maxBytes, Number(this.stat.size)));
      return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0));
    } finally {
      closeSync(file);
    }
  }

  /** Names of the children of a folder. */
  names(): string[] {
    return readdirSync(`${this.#place}/`);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }
}

export function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}
