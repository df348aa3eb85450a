import { createReadStream, createWriteStream } from "node:fs";
// biome-ignore lint/style/noRestrictedImports: a compressed log may be lost with the machine.
import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Clock, Log } from "@dray/client";
import type { RuntimeService } from "../runtime/service.ts";

export interface LogLimits {
  /** Size in bytes at which a container's log is rotated. */
  readonly maxSize: number;
  /** Maximum number of files of a container, including the one that is written; at least 2. */
  readonly maxFiles: number;
}

/** Upstream: KubeletConfiguration, containerLogMaxSize and containerLogMaxFiles. */
export const defaultLogLimits: LogLimits = { maxSize: 10 << 20, maxFiles: 5 };

/** Interval of checks in milliseconds. Upstream: KubeletConfiguration, containerLogMonitorInterval. */
const monitorInterval = 10_000;

export interface LogRotationOptions {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: LogLimits;
}

/**
 * Rotates the logs of running containers: a log that is too long continues in a new file, the old one is
 * named by the time, earlier ones are compressed, and the oldest removed.
 *
 * Upstream: pkg/kubelet/logs/container_log_manager.go.
 */
export class LogRotation {
  readonly #options: LogRotationOptions;
  #cancel: (() => void) | undefined;
  #looking: Promise<void> = Promise.resolve();
  #stopped = false;

  /** Throws for limits that keep no log. */
  constructor(options: LogRotationOptions) {
    const { maxSize, maxFiles } = options.limits;
    if (!(maxSize > 0)) throw new Error(`containerLogMaxSize ${maxSize} must be greater than 0`);
    if (!Number.isInteger(maxFiles) || maxFiles < 2)
      throw new Error(`containerLogMaxFiles ${maxFiles} must be an integer of at least 2`);
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(monitorInterval, () => {
      this.#looking = this.#look().then(() => {
        if (!this.#stopped) this.start();
      });
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { runtime, log, limits } = this.#options;
    try {
      for (const { id, state, config } of await runtime.listContainers()) {
        if (this.#stopped) return;
        if (state !== "running") continue;
        const { size } = await stat(config.logPath).catch(() => ({ size: 0 }));
        if (size < limits.maxSize) continue;
        try {
          await this.#rotate(id, config.logPath);
        } catch (error) {
          log.warn(
            { container: id, path: config.logPath, err: error },
            "cannot rotate the log of a container",
          );
        }
      }
    } catch (error) {
      log.warn({ err: error }, "cannot look at the logs of containers");
    }
  }

  async #rotate(id: string, path: string): Promise<void> {
    const { runtime, clock, limits } = this.#options;
    const rotated = await rotatedLogs(path);
    // Leaves room for the next rotated file, beside the one that is written.
    const excess = Math.max(0, rotated.length - (limits.maxFiles - 2));
    for (const old of rotated.splice(0, excess)) await removeWithNotes(old);
    for (const old of rotated) if (!old.endsWith(".gz")) await compress(old);
    await runtime.rotateContainerLog(id, `${path}.${timeSuffix(clock.now())}`);
  }
}

/** Removes the log of a container that is gone, including rotated files. */
export async function removeLog(path: string): Promise<void> {
  const name = basename(path);
  const directory = dirname(path);
  const entries = await readdir(directory).catch(() => []);
  for (const entry of entries)
    if (entry === name || entry.startsWith(`${name}.`)) await rm(join(directory, entry), { force: true });
}

/** Rotated files of a log, the oldest first. */
async function rotatedLogs(path: string): Promise<string[]> {
  const prefix = `${basename(path)}.`;
  const directory = dirname(path);
  const entries = (await readdir(directory)).filter((entry) => entry.startsWith(prefix));
  // Left by an agent that was killed while it compressed.
  for (const entry of entries) if (entry.endsWith(".tmp")) await rm(join(directory, entry), { force: true });
  return entries
    .filter((entry) => /^\d{8}-\d{6}(\.\d+)?(\.gz)?$/.test(entry.slice(prefix.length)))
    .sort()
    .map((entry) => join(directory, entry));
}

async function compress(path: string): Promise<void> {
  const temporary = `${path}.tmp`;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(temporary, { mode: 0o640 }));
  await rename(temporary, `${path}.gz`);
  await removeWithNotes(path);
}

/** A runtime may keep state of a log in files beside it. */
async function removeWithNotes(path: string): Promise<void> {
  const directory = dirname(path);
  const notes = (await readdir(directory)).filter((entry) => entry.startsWith(`${basename(path)}.`));
  for (const note of notes) if (!note.endsWith(".gz")) await rm(join(directory, note), { force: true });
  await rm(path, { force: true });
}

/** `20261123-150405.123` in UTC: distinct for two rotations in one second. */
function timeSuffix(now: number): string {
  const text = new Date(now).toISOString();
  return `${text.slice(0, 10).replaceAll("-", "")}-${text.slice(11, 19).replaceAll(":", "")}.${text.slice(20, 23)}`;
}
