import { type BigIntStats, constants, lstatSync } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep } from "@dray/client";
import { EventLoopShare } from "../base/event-loop-share.ts";

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

/** Time for which a measurement counts, in times of its own duration; at most `maxAge` milliseconds. */
const ageFactor = 10;
const maxAge = 60_000;
/**
 * Milliseconds of a measurement from which on it counts for later callers; a shorter one is made each time.
 */
const minDuration = 50;
/** Milliseconds for which a caller waits for a measurement. */
const maxWait = 1000;
/** Milliseconds for which a measurement is kept after it is out of date. */
const forgetAfter = 600_000;

/**
 * Measures folders. Pods decide how many files they have, and several callers ask every few seconds, so a
 * measurement that takes long counts for ten times as long, a minute at most.
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

  /**
   * Returns the last measurement, or a new one if it takes at most a second; undefined if the first one takes
   * longer. Files with several names count once, other file systems and files that are removed meanwhile do
   * not count.
   */
  async of(path: string): Promise<DiskUsage | undefined> {
    const last = this.#measured.get(path);
    if (last !== undefined && this.#clock.now() < last.until) return last.usage;
    const timeout = new AbortController();
    try {
      return await Promise.race([
        this.#measure(path),
        sleep(this.#clock, maxWait, timeout.signal).then(() => last?.usage),
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
        const now = this.#clock.now();
        const duration = now - started;
        this.#measured.delete(path);
        for (const [known, { until }] of this.#measured)
          if (now > until + forgetAfter) this.#measured.delete(known);
        if (duration >= minDuration)
          this.#measured.set(path, { usage, until: now + Math.min(duration * ageFactor, maxAge) });
        return usage;
      })
      .finally(() => this.#measuring.delete(path));
    this.#measuring.set(path, measuring);
    return measuring;
  }
}

/** Measures a folder once, whatever it takes. */
export async function treeUsage(path: string): Promise<DiskUsage> {
  const stat = lookUp(path);
  if (stat === undefined) return { bytes: 0n, inodes: 0n };
  const usage = new TreeUsage(stat.dev);
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
const filesAtOnce = 1000;

class TreeUsage {
  bytes = 0n;
  inodes = 0n;
  /** Files with several names. */
  readonly #seen = new Set<string>();
  readonly #share = new EventLoopShare(filesAtOnce);

  readonly #device: bigint;

  constructor(device: bigint) {
    this.#device = device;
  }

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
        await this.#share.step();
        if (stat === undefined || stat.dev !== this.#device) continue;
        this.count(stat);
        if (stat.isDirectory() && depth < maxDepth) await this.walk(entry, depth + 1);
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
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
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
