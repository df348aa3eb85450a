import { type ChildProcess, spawn } from "node:child_process";
import { type FileHandle, open } from "node:fs/promises";
import type { Clock } from "@dray/client";

/** Excludes the other instances of a driver on a node, whatever containers and name spaces they run in. */
export interface InstanceLock {
  /**
   * Waits until no other instance holds the lock and returns the function that releases it. Rejects when `end` was
   * called, or when the file cannot be locked.
   */
  acquire(): Promise<() => Promise<void>>;
  /** Ends all waiting. A lock that is held stays until it is released. */
  end(): void;
}

/** For a driver without other instances. */
export const noLock: InstanceLock = { acquire: async () => async () => {}, end() {} };

/** The program `flock` is not installed. */
export class MissingFlockError extends Error {
  override readonly name = "MissingFlockError";
}

/**
 * flock(2) on `path`, the lock that the Go helper takes as well (k8s.io/dynamic-resource-allocation/kubeletplugin,
 * `serialize.lock` in the folder of the driver): an instance written in Go and one of ours exclude each other during a
 * rolling update. Node has no call for it. The lock belongs to the open file description, so the program `flock`, which
 * inherits the descriptor, takes it and ends, and this process holds it from then on: closing the file releases it, and
 * so does a crash, without a process or a stale file that stays.
 *
 * Rejects with MissingFlockError where that program is missing. The folder of `path` must exist.
 */
export async function openInstanceLock(path: string): Promise<InstanceLock> {
  const children = new Set<ChildProcess>();
  let ended = false;

  const run = async (file: FileHandle, how: readonly string[]): Promise<number | NodeJS.Signals> => {
    const child = spawn("flock", [...how, "3"], { stdio: ["ignore", "ignore", "ignore", file.fd] });
    children.add(child);
    try {
      return await new Promise((resolve, reject) => {
        child.once("error", reject);
        child.once("exit", (code, signal) => resolve(code ?? signal ?? 1));
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      throw new MissingFlockError(
        `cannot lock ${path}: the program flock is missing; install util-linux or busybox`,
      );
    } finally {
      children.delete(child);
    }
  };

  const probe = await open(path, "a", 0o600);
  try {
    // 1: another instance holds it at the moment.
    const result = await run(probe, ["-n"]);
    if (result !== 0 && result !== 1) throw new Error(`cannot lock ${path}: flock ended with ${result}`);
  } finally {
    await probe.close();
  }

  return {
    async acquire() {
      if (ended) throw new Error(`not waiting for ${path}: the driver ends`);
      // Opened each time: the file may have been deleted, and every instance must lock the file that is there.
      const file = await open(path, "a", 0o600);
      try {
        const result = await run(file, ["-x"]);
        if (ended) throw new Error(`not waiting for ${path}: the driver ends`);
        if (result !== 0) throw new Error(`cannot lock ${path}: flock ended with ${result}`);
      } catch (error) {
        await file.close();
        throw error;
      }
      return () => file.close();
    },
    end() {
      ended = true;
      for (const child of children) child.kill();
    },
  };
}

/** Runs functions one after the other, in their order. */
export type Serial = <T>(run: () => Promise<T>) => Promise<T>;

/** Milliseconds for which a busy instance keeps the lock before the others get their turn. */
const maxHeld = 2000;

/** A queue of functions that run one at a time while `lock` is held; it is kept while the next one waits. */
export function createSerial(lock: InstanceLock, clock: Clock): Serial {
  interface Waiting {
    run(): Promise<void>;
    reject(error: unknown): void;
  }
  const queue: Waiting[] = [];
  let draining = false;

  async function drain(): Promise<void> {
    draining = true;
    while (queue.length > 0) {
      try {
        const release = await lock.acquire();
        const end = clock.now() + maxHeld;
        try {
          do await queue.shift()!.run();
          while (queue.length > 0 && clock.now() < end);
        } finally {
          await release();
        }
      } catch (error) {
        for (const one of queue.splice(0)) one.reject(error);
      }
    }
    draining = false;
  }

  return (run) =>
    new Promise((resolve, reject) => {
      queue.push({ run: () => run().then(resolve, reject), reject });
      if (!draining) void drain();
    });
}

/** Runs functions with the same key one after the other, those with different keys side by side. */
export function createKeyedMutex(): <T>(key: string, run: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (key, run) => {
    const result = (last.get(key) ?? Promise.resolve()).then(run);
    const settled = result
      .catch(() => {})
      .then(() => {
        if (last.get(key) === settled) last.delete(key);
      });
    last.set(key, settled);
    return result;
  };
}
