import { type ChildProcessByStdio, spawn } from "node:child_process";
import { type FileHandle, open, stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "@dray/client";

/** Excludes the other instances of a driver on a node, whatever containers and name spaces they run in. */
export interface InstanceLock {
  /**
   * Waits until no other instance holds the lock and returns the function that releases it. Rejects when
   * `end` was called, or when the file cannot be locked.
   */
  acquire(): Promise<() => Promise<void>>;
  /** Ends all waiting. A lock that is held stays until it is released. */
  end(): void;
}

/** For a driver without other instances. */
export const noLock: InstanceLock = { acquire: async () => async () => {}, end() {} };

/** An open file that can be locked, and the shell that does it. */
interface Locker {
  readonly file: FileHandle;
  /** Inode of the file. */
  readonly inode: bigint;
  /** Runs `flock HOW` on the file and resolves with its exit code; rejects when the shell has ended. */
  run(how: "-x" | "-u" | "-n"): Promise<number>;
  close(): Promise<void>;
}

/**
 * Responds to each line, options of flock, with its exit code. It ends with its input: when this process
 * does.
 */
const shellScript = 'while read -r how; do flock "$how" 3; echo "$?"; done';

/** Exit code of a shell for a program that is missing. */
const missing = 127;

async function openLocker(path: string): Promise<Locker> {
  const file = await open(path, "a", 0o600);
  let answer: { resolve(code: number): void; reject(error: Error): void } | undefined;
  const failed = (error: Error): void => {
    answer?.reject(error);
    answer = undefined;
  };
  const child = spawn("sh", ["-c", shellScript], {
    stdio: ["pipe", "pipe", "ignore", file.fd],
    // A group of its own, so that a flock that waits ends with the shell.
    detached: true,
  }) as ChildProcessByStdio<Writable, Readable, null>;
  let alive = true;
  child.once("error", (error) => {
    alive = false;
    failed(new Error(`cannot lock ${path}: ${error.message}`));
  });
  child.once("exit", (code, signal) => {
    alive = false;
    failed(new Error(`cannot lock ${path}: its shell has ended with ${code ?? signal}`));
  });
  child.stdin.on("error", () => {});
  createInterface(child.stdout).on("line", (line) => {
    answer?.resolve(Number(line));
    answer = undefined;
  });
  return {
    file,
    inode: (await file.stat({ bigint: true })).ino,
    run: (how) =>
      new Promise((resolve, reject) => {
        if (!alive) return reject(new Error(`cannot lock ${path}: its shell has ended`));
        answer = { resolve, reject };
        child.stdin.write(`${how}\n`);
      }),
    async close() {
      if (alive && child.pid !== undefined) {
        try {
          process.kill(-child.pid, "SIGKILL");
        } catch {
          // It has just ended.
        }
      }
      await file.close();
    },
  };
}

/**
 * flock(2) on `path`, the lock that the Go helper takes as well
 * (k8s.io/dynamic-resource-allocation/kubeletplugin, `serialize.lock` in the folder of the driver): an
 * instance written in Go and one of ours exclude each other during a rolling update. Node has no call for it.
 * The lock belongs to the open file description, which this process shares with a shell that runs the program
 * `flock` on it: so this process holds the lock itself, whatever becomes of the shell, and a crash releases
 * it, without a process or a stale file that stays. The shell is there once for all: to start a process from
 * a large one takes long.
 *
 * Rejects where the program `flock` is missing. The folder of `path` must exist.
 */
export async function openInstanceLock(path: string): Promise<InstanceLock> {
  let locker: Locker | undefined = await openLocker(path);
  let ended = false;
  let isHeld = false;

  const drop = async (): Promise<void> => {
    const old = locker;
    locker = undefined;
    await old?.close();
  };
  const check = async (result: number, accepted: readonly number[]): Promise<void> => {
    if (accepted.includes(result)) return;
    await drop();
    throw new Error(
      result === missing
        ? `cannot lock ${path}: the program flock is missing; install util-linux or busybox`
        : `cannot lock ${path}: flock ended with ${result}`,
    );
  };
  const endedError = (): Error => new Error(`not waiting for ${path}: the driver ends`);

  // Code 1: another instance holds it at the moment.
  const probe = await locker.run("-n");
  await check(probe, [0, 1]);
  if (probe === 0) await locker.run("-u");

  /** Reports whether the file that is locked is the one that other instances see. */
  const isInPlace = async ({ inode }: Locker): Promise<boolean> => {
    try {
      return (await stat(path, { bigint: true })).ino === inode;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw error;
    }
  };

  return {
    async acquire() {
      for (;;) {
        if (ended) throw endedError();
        locker ??= await openLocker(path);
        try {
          await check(await locker.run("-x"), [0]);
        } catch (error) {
          await drop();
          throw ended ? endedError() : error;
        }
        const held = locker;
        // Somebody may have deleted the file while we waited.
        if (!(await isInPlace(held))) {
          await drop();
          continue;
        }
        isHeld = true;
        return async () => {
          isHeld = false;
          try {
            // Closing releases it as well.
            if (ended) await drop();
            else await check(await held.run("-u"), [0]);
          } catch {
            if (locker === held) await drop();
          }
        };
      }
    },
    end() {
      ended = true;
      if (!isHeld) void drop();
    },
  };
}

/** Runs functions one after the other, in their order. */
export type Serial = <T>(run: () => Promise<T>) => Promise<T>;

/** Milliseconds for which a busy instance keeps the lock before it lets the others have it. */
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
          let next = queue.shift();
          while (next !== undefined) {
            await next.run();
            next = clock.now() < end ? queue.shift() : undefined;
          }
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
