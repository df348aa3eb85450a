import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from "node:fs";
import { lstat, open, stat } from "node:fs/promises";
import { withPath } from "./error.ts";

export interface ReadOptions {
  /** Maximum size of the file. */
  readonly maxBytes: number;
  /** False: rejects a symbolic link (the last part of the path only). Default: follows it. */
  readonly followLink?: boolean;
}

/** The path is not a regular file, or the file is too large. Nothing was read. */
export class NotRegularFileError extends Error {
  override readonly name = "NotRegularFileError";
  readonly path: string;
  constructor(path: string, problem: string) {
    super(`${path} ${problem}`);
    this.path = path;
  }
}

/**
 * Reads a file in a folder that others write to. Never opens or waits for a named pipe, a socket or a device,
 * and uses no more than `maxBytes` of memory. Throws NotRegularFileError; system errors keep their `code`
 * (`ENOENT` for a missing file).
 */
export async function readRegularFile(path: string, options: ReadOptions): Promise<Buffer> {
  try {
    // Before it is opened: opening a device can already have effects.
    check(path, await (options.followLink === false ? lstat(path) : stat(path)), options);
    const file = await open(path, flags(options));
    try {
      // Again, as the file may have been replaced meanwhile.
      const parts = new Parts(path, check(path, await file.stat(), options), options);
      for (;;) {
        const { bytesRead } = await file.read(parts.free());
        if (bytesRead === 0) return parts.end();
        parts.add(bytesRead);
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    throw error instanceof NotRegularFileError ? error : withPath(`cannot read ${path}`, error);
  }
}

/** Returns the last bytes of an open file, at most `maxBytes`. */
export function readEndSync(file: number, maxBytes: number): Buffer {
  const { size } = fstatSync(file);
  const bytes = Buffer.alloc(Math.min(size, maxBytes));
  return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, size - bytes.length));
}

/** Synchronous `readRegularFile`. */
export function readRegularFileSync(path: string, options: ReadOptions): Buffer {
  try {
    check(path, options.followLink === false ? lstatSync(path) : statSync(path), options);
    const file = openSync(path, flags(options));
    try {
      const parts = new Parts(path, check(path, fstatSync(file), options), options);
      for (;;) {
        const bytes = readSync(file, parts.free());
        if (bytes === 0) return parts.end();
        parts.add(bytes);
      }
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw error instanceof NotRegularFileError ? error : withPath(`cannot read ${path}`, error);
  }
}

/** O_NOFOLLOW and O_NONBLOCK are undefined on some platforms. */
function flags({ followLink = true }: ReadOptions): number {
  const { O_RDONLY, O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = constants;
  return O_RDONLY | O_NONBLOCK | O_NOCTTY | (followLink ? 0 : O_NOFOLLOW);
}

/** Returns the size. */
function check(path: string, stats: Stats, { maxBytes }: ReadOptions): number {
  if (!stats.isFile()) throw new NotRegularFileError(path, `is ${kind(stats)}; only a regular file is read`);
  if (stats.size > maxBytes) throw tooLarge(path, `has ${stats.size} bytes`, maxBytes);
  return stats.size;
}

function tooLarge(path: string, has: string, maxBytes: number): NotRegularFileError {
  return new NotRegularFileError(path, `${has}; at most ${maxBytes} bytes are read`);
}

function kind(stats: Stats): string {
  if (stats.isDirectory()) return "a folder";
  if (stats.isSymbolicLink()) return "a symbolic link";
  if (stats.isFIFO()) return "a named pipe";
  if (stats.isSocket()) return "a socket";
  return stats.isBlockDevice() ? "a block device" : "a character device";
}

/** Collects the bytes read. The size of a file is a hint: it may grow, and procfs reports 0. */
class Parts {
  readonly #path: string;
  readonly #maxBytes: number;
  #buffer: Buffer;
  #length = 0;

  constructor(path: string, size: number, { maxBytes }: ReadOptions) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    // One byte more than the reported size, to detect the end without a second buffer.
    this.#buffer = Buffer.allocUnsafe(size + 1);
  }

  free(): Buffer {
    if (this.#length === this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(Math.max(this.#length * 2, 4096), this.#maxBytes + 1));
      this.#buffer.copy(larger);
      this.#buffer = larger;
    }
    return this.#buffer.subarray(this.#length);
  }

  add(bytes: number): void {
    this.#length += bytes;
    if (this.#length > this.#maxBytes)
      throw tooLarge(this.#path, `grew beyond ${this.#maxBytes} bytes while it was read`, this.#maxBytes);
  }

  end(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}
