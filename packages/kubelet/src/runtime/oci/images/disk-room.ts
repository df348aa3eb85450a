import { statfs } from "node:fs/promises";

/** The disk of the images would be too full. */
export class DiskRoomError extends Error {
  override readonly name = "DiskRoomError";
}

/** Share of the disk that images leave free, but no more than `maxReserve` of bytes or files. */
const minFree = 0.05;
const maxReserve = { bytes: 2 ** 30, files: 10_000 };

/** Bytes after which the disk is looked at again. */
const step = 64 * 2 ** 20;

/** Files after which it is looked at again. */
const fileStep = 10_000;

/** Free and total bytes and files of a disk. */
export interface DiskUse {
  readonly bsize: number;
  readonly blocks: number;
  readonly bavail: number;
  readonly files: number;
  readonly ffree: number;
}

/**
 * Stops what is written for an image before the disk is full: a few megabytes may unpack to a thousand times
 * as much, and a full disk stops the cluster and everything else of the machine.
 */
export class DiskRoom {
  readonly #folder: string;
  readonly #use: (folder: string) => Promise<DiskUse>;
  #bytes = step;
  #files = fileStep;

  constructor(folder: string, use: (folder: string) => Promise<DiskUse> = statfs) {
    this.#folder = folder;
    this.#use = use;
  }

  /** Counts bytes and files that are about to be written. Throws DiskRoomError. */
  async take(bytes: number, files = 0): Promise<void> {
    this.#bytes += bytes;
    this.#files += files;
    if (this.#bytes < step && this.#files < fileStep) return;
    this.#bytes = 0;
    this.#files = 0;
    const { bsize, blocks, bavail, files: maxFiles, ffree } = await this.#use(this.#folder);
    // Some file systems have no fixed number of files, and report 0.
    const free = bavail * bsize;
    const minBytes = Math.min(blocks * bsize * minFree, maxReserve.bytes);
    const minFiles = Math.min(maxFiles * minFree, maxReserve.files);
    if (free >= minBytes && ffree >= minFiles) return;
    const [left, least] =
      free < minBytes
        ? [free, minBytes].map((all) => `${Math.floor(all / 2 ** 20)} MiB`)
        : [ffree, minFiles].map((all) => `${Math.floor(all)} files`);
    throw new DiskRoomError(
      `the disk of ${this.#folder} has ${left} left, and images leave ${least} free: remove images (dray image rm) or other files`,
    );
  }
}
