import { existsSync, type FSWatcher, readFileSync, statSync, watch } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@dray/client";
import type { ContainerConfig } from "../config.ts";
import { LogTimes } from "../host/logs.ts";
import { note } from "../host/note.ts";
import {
  bootId,
  findByArguments,
  isAlive,
  type ProcessIdentity,
  parseStat,
  processStat,
  signal,
} from "../host/processes.ts";
import { type Loss, readRecord, writeRecord } from "../host/records.ts";
import type { Container, ContainerUser } from "../service.ts";
import { oomKills } from "./cgroups.ts";
import { traceNames, wrapperName } from "./scripts.ts";

/** Record of a container on disk; its state is in the files that its wrapper writes beside it. */
export interface OciContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly createdAt: number;
  /** Stop signal of the image. */
  readonly stopSignal: string;
  /** Absent from records of older agents. */
  readonly user?: ContainerUser;
  /** Path below the root of every hierarchy. */
  readonly cgroup: string;
  /** The boot in which it was started; absent before. */
  readonly bootId?: string;
}

interface Traces {
  readonly wrapper: ProcessIdentity | undefined;
  readonly runner: ProcessIdentity | undefined;
  readonly startedAt: number | undefined;
  readonly exit: { readonly code: number; readonly at: number } | undefined;
}

export interface OciContainerSurroundings {
  readonly clock: Clock;
  /** Called when the container has started or ended. */
  changed(): void;
  /** Ends remaining processes of the container, whose wrapper was killed. */
  endRest(): Promise<void>;
}

/** One container: its record, and the files of its wrapper and runc. */
export class OciContainer {
  readonly directory: string;
  record: OciContainerRecord;
  #traces: Traces = { wrapper: undefined, runner: undefined, startedAt: undefined, exit: undefined };
  /** Set when the wrapper has ended without an exit code. */
  #lost: Loss | undefined;
  #watcher: FSWatcher | undefined;
  #released = false;
  #log: LogTimes | undefined;
  readonly #waiting = new Set<() => void>();
  readonly #surroundings: OciContainerSurroundings;
  readonly #clock: Clock;
  /** Running clean-up of a container whose wrapper is gone. */
  #losing: Promise<void> | undefined;

  constructor(directory: string, record: OciContainerRecord, surroundings: OciContainerSurroundings) {
    this.directory = directory;
    this.record = record;
    this.#surroundings = surroundings;
    this.#clock = surroundings.clock;
  }

  get launched(): boolean {
    return this.record.bootId !== undefined;
  }

  get exited(): boolean {
    return this.#traces.exit !== undefined || this.#lost !== undefined;
  }

  get running(): boolean {
    return this.#traces.startedAt !== undefined && !this.exited;
  }

  /** Process that copies the container's streams while the container runs: `runc run`. */
  get process(): ProcessIdentity | undefined {
    const { runner } = this.#traces;
    return this.running && runner !== undefined && isAlive(runner) ? runner : undefined;
  }

  /** First process of the program while it runs. */
  get program(): ProcessIdentity | undefined {
    const stat = processStat(Number.parseInt(this.#text(traceNames.pid) ?? "", 10));
    // Another process may have its PID by now.
    return stat !== undefined && stat.parent === this.process?.pid ? stat : undefined;
  }

  /** Resolves when a container whose wrapper is gone has been cleaned up. */
  async settled(): Promise<void> {
    await this.#losing;
  }

  watch(): void {
    if (this.#watcher !== undefined || this.exited) return;
    this.#watcher = watch(this.directory, { persistent: false }, (_, file) => {
      if (file === null || file === traceNames.pid || file === traceNames.exit) this.refresh();
    });
    this.#watcher.on("error", () => this.unwatch());
    if (this.launched && existsSync(this.record.config.logPath))
      this.#log = new LogTimes(this.record.config.logPath, this.#clock);
  }

  /**
   * Calls `listener` when its log has grown, and when it has ended. Returns a function that removes the
   * listener.
   */
  onLog(listener: () => void): () => void {
    return this.#log?.onGrowth(listener) ?? (() => {});
  }

  /**
   * Calls `listener` with the path to which its log was moved. Returns a function that removes the listener.
   */
  onRotation(listener: (to: string) => void): () => void {
    return this.#log?.onRotation(listener) ?? (() => {});
  }

  /** Moves the contents of its log to the file `to`, as `LogTimes.rotate`. */
  async rotateLog(to: string, pause: () => Promise<() => void>): Promise<void> {
    const { logPath } = this.record.config;
    const log = this.#log ?? new LogTimes(logPath, this.#clock);
    try {
      await log.rotate(to, pause);
    } finally {
      if (log !== this.#log) log.close();
    }
  }

  /** Stops watching; the next agent adopts the container. */
  release(): void {
    this.#released = true;
    this.unwatch();
    this.#wake();
  }

  get released(): boolean {
    return this.#released;
  }

  unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#log?.close();
    this.#log = undefined;
  }

  /** Reads the wrapper's files, and detects a wrapper that is gone. */
  refresh(wrapperGone = false): void {
    if (this.exited || !this.launched || this.#released) return;
    const before = this.#traces;
    let traces = this.#read();
    if (traces.exit === undefined && (wrapperGone || !this.#wrapperAlive(traces.wrapper))) {
      // The exit code may have been written after the first read.
      traces = this.#read();
      if (traces.exit === undefined) this.#lose();
    }
    this.#traces = traces;
    if (this.exited) this.unwatch();
    if (this.exited || before.startedAt !== traces.startedAt) {
      this.#wake();
      this.#surroundings.changed();
    }
  }

  /** Counts as exited only when no process is left, since another container may get its devices then. */
  #lose(): void {
    this.#losing ??= this.#surroundings.endRest().then(
      () => {
        if (this.#released || this.exited) return;
        this.#lost = this.#noteLoss();
        this.unwatch();
        this.#wake();
        this.#surroundings.changed();
      },
      () => {
        // The next refresh retries.
        this.#losing = undefined;
      },
    );
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #read(): Traces {
    const identity = (name: string): ProcessIdentity | undefined => parseStat(this.#text(name) ?? "");
    const exit = this.#text(traceNames.exit);
    return {
      wrapper: identity(traceNames.wrapper),
      runner: identity(traceNames.runner),
      startedAt: this.#modified(traceNames.pid),
      exit: exit?.endsWith("\n")
        ? { code: Number.parseInt(exit, 10), at: this.#modified(traceNames.exit) ?? this.#clock.now() }
        : undefined,
    };
  }

  #text(name: string): string | undefined {
    try {
      return readFileSync(join(this.directory, name), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  #modified(name: string): number | undefined {
    return statSync(join(this.directory, name), { throwIfNoEntry: false })?.mtimeMs;
  }

  #wrapperAlive(wrapper: ProcessIdentity | undefined): boolean {
    if (this.record.bootId !== bootId()) return false;
    if (wrapper !== undefined) return isAlive(wrapper);
    // For the moment before it has written its PID.
    return findByArguments(join(this.directory, "../..", wrapperName), this.directory) !== undefined;
  }

  /** Written once, so that later agents report the same time. */
  #noteLoss(): Loss {
    const known = readRecord<Loss>(this.directory, "lost");
    if (known !== undefined) return known;
    const loss: Loss = { at: this.#clock.now(), exitCode: 137 };
    try {
      writeRecord(join(this.directory, "lost"), JSON.stringify(loss));
    } catch {
      // The disk is full: an agent that starts later finds another time.
    }
    return loss;
  }

  /** Resolves when the program runs, cannot be started, or has ended. */
  async started(): Promise<void> {
    while (!this.exited && this.#traces.startedAt === undefined && !this.#released) await this.#next();
  }

  async ended(): Promise<void> {
    while (this.launched && !this.exited && !this.#released) await this.#next();
  }

  #next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** Error of runc at the start. */
  get startError(): string {
    const lines = (this.#text(traceNames.log) ?? "").split("\n").filter(Boolean);
    const texts = lines.flatMap((line) => {
      try {
        const { level, msg } = JSON.parse(line) as { level?: unknown; msg?: unknown };
        return level === "error" && typeof msg === "string" ? [msg] : [];
      } catch {
        return [];
      }
    });
    return texts.at(-1) ?? (this.#text("error")?.trim() || "runc failed without a word");
  }

  /** Ends the process that held the pipe of the input open, which a killed shell leaves. */
  killRest(): void {
    const rest = findByArguments(join(this.directory, "../..", wrapperName), this.directory);
    if (rest !== undefined) signal(rest.pid, "SIGKILL");
  }

  /** Resumes the output, in case an agent ended while it moved the log. */
  resume(): void {
    const { process } = this;
    // With a terminal, its parent copies the output.
    const parent = process === undefined ? undefined : processStat(process.pid)?.parent;
    for (const pid of [process?.pid, parent]) if (pid !== undefined && pid > 1) signal(pid, "SIGCONT");
  }

  noteDone(): void {
    note(join(this.directory, "done"), "");
  }

  get done(): boolean {
    return existsSync(join(this.directory, "done"));
  }

  status(): Container {
    const { id, sandboxId, config, createdAt, user } = this.record;
    const { startedAt, exit } = this.#traces;
    const { name, attempt, hash, logPath, terminationLog } = config;
    const base = {
      id,
      sandboxId,
      config: { name, attempt, hash, logPath, terminationLog },
      imageRef: config.imageRef,
      ...(user === undefined ? {} : { user }),
      createdAt,
      startedAt,
      finishedAt: undefined,
      exitCode: undefined,
      reason: undefined,
      message: undefined,
    };
    if (!this.exited) return { ...base, state: startedAt === undefined ? "created" : "running" };
    if (exit === undefined)
      return {
        ...base,
        state: "exited",
        finishedAt: this.#lost?.at,
        exitCode: this.#lost?.exitCode,
        reason: "ContainerStatusUnknown",
        message: "the container was gone, and nothing had recorded how it ended",
      };
    const ended = { ...base, state: "exited", finishedAt: exit.at } as const;
    if (startedAt === undefined)
      return {
        ...ended,
        exitCode: 128,
        reason: "StartError",
        message: `failed to start container "${config.name}": ${this.startError}`,
      };
    const oom = exit.code !== 0 && oomKills(this.#text(traceNames.oom) ?? "") > 0;
    return {
      ...ended,
      exitCode: exit.code,
      reason: exit.code === 0 ? "Completed" : oom ? "OOMKilled" : "Error",
    };
  }
}
