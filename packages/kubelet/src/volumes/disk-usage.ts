import { type BigIntStats, constants, lstatSync } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep } from "@dray/client";
import { Turns } from "../base/turns.ts";

/** Size of a folder on disk, as du(1). */
export interface DiskUsage {
  readonly bytes: bigint;
  readonly inodes: bigint;
}

interface Measured {
  /** The last complete measurement. */
  readonly usage: DiskUsage;
  /** Until when it is taken for the present one, in milliseconds. */
  readonly until: number;
}

/** Share of the time in which one folder may be measured, as its reciprocal. */
const restsPerMeasurement = 10;
/** Milliseconds of a measurement from which on it is kept; a shorter one is made each time. */
const minKept = 50;
/** Milliseconds for which a caller waits for a new measurement where there is an older one. */
const maxWait = 1000;

/**
 * Measures folders. Pods decide how many files they have, and several callers ask every few seconds, so a
 * folder whose measurement takes long is measured a tenth of the time at most; meanwhile its last size
 * counts.
 *
 * Upstream: pkg/kubelet/server/stats/volume_stat_calculator.go, which measures once a minute
 * (`--volume-stats-agg-period`).
 */
export class DiskUsages {
  readonly #clock: Clock;
  /** By path. */
  readonly #measured = new Map<string, Measured>();
  readonly #measuring = new Map<string, Promise<DiskUsage>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Files with several names count once; those that are removed meanwhile do not count. */
  async of(path: string): Promise<DiskUsage> {
    const last = this.#measured.get(path);
    if (last !== undefined && this.#clock.now() < last.until) return last.usage;
    const measuring = this.#measure(path);
    if (last === undefined) return await measuring;
    const timeout = new AbortController();
    try {
      return await Promise.race([
        measuring,
        sleep(this.#clock, maxWait, timeout.signal).then(() => last.usage),
      ]);
    } finally {
      timeout.abort();
    }
  }

  #measure(path: string): Promise<DiskUsage> {
    const running = this.#measuring.get(path);
    if (running !== undefined) return running;
    const started = this.#clock.now();
    const measuring = treeUsage(path)
      .then((usage) => {
        const took = this.#clock.now() - started;
        this.#measured.delete(path);
        if (took >= minKept)
          this.#measured.set(path, { usage, until: this.#clock.now() + took * restsPerMeasurement });
        return usage;
      })
      .finally(() => this.#measuring.delete(path));
    this.#measuring.set(path, measuring);
    return measuring;
  }

  /** Forgets the folders below a path, which are gone. */
  forget(path: string): void {
    for (const known of this.#measured.keys())
      if (known === path || known.startsWith(`${path}/`)) this.#measured.delete(known);
  }
}

/** Measures a folder once, whatever it takes. */
export async function treeUsage(path: string): Promise<DiskUsage> {
  const usage = new TreeUsage();
  const stat = lookUp(path);
  if (stat === undefined) return { bytes: 0n, inodes: 0n };
  usage.count(stat);
  await usage.walk(path, 0);
  return { bytes: usage.bytes, inodes: usage.inodes };
}

/** Maximum depth that is entered: each level takes a file descriptor. Paths of Linux end at 2048 levels. */
const maxDepth = 1000;
/**
 * Files that are looked up at a time, some milliseconds long: one after the other takes a sixth of the
 * processor time that the thread pool takes.
 */
const filesPerTurn = 1000;

class TreeUsage {
  bytes = 0n;
  inodes = 0n;
  /** Files with several names. */
  readonly #seen = new Set<string>();
  readonly #turns = new Turns(filesPerTurn);

  count(stat: BigIntStats): void {
    if (stat.nlink > 1n && !stat.isDirectory()) {
      const key = `${stat.dev}/${stat.ino}`;
      if (this.#seen.has(key)) return;
      this.#seen.add(key);
    }
    this.bytes += stat.blocks * 512n;
    this.inodes++;
  }

  /**
   * Counts what a folder contains. It stays open meanwhile, and its entries are looked up from it: a
   * container that exchanges a folder for a link leads nowhere else.
   */
  async walk(path: string, depth: number): Promise<void> {
    const folder = await openFolder(path);
    if (folder === undefined) return;
    try {
      const here = process.platform === "linux" ? `/proc/self/fd/${folder.fd}` : path;
      for (const name of (await quietly(() => readdir(here))) ?? []) {
        const entry = join(here, name);
        const stat = lookUp(entry);
        if (stat === undefined) continue;
        this.count(stat);
        if (stat.isDirectory() && depth < maxDepth) await this.walk(entry, depth + 1);
        await this.#turns.step();
      }
    } finally {
      await folder.close();
    }
  }
}

function openFolder(path: string): Promise<FileHandle | undefined> {
  return quietly(() => open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW));
}

function lookUp(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true });
  } catch (error) {
    return ifGone(error);
  }
}

async function quietly<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    return ifGone(error);
  }
}

/** Undefined for what is gone, or is another thing by now. */
function ifGone(error: unknown): undefined {
  const { code = "" } = error as NodeJS.ErrnoException;
  if (!["ENOENT", "ENOTDIR", "ELOOP"].includes(code)) throw error;
}
