import { existsSync, type FSWatcher, readFileSync, watch } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import type { Clock } from "@dray/client";
import type { Container, ContainerUser } from "../service.ts";
import { oomKills, removeBounds } from "./bounds.ts";
import { cgroupMembers, withoutForks } from "./cgroups.ts";
import { LogTimes } from "./logs.ts";
import { note } from "./note.ts";
import {
  bootId,
  familyMembers,
  findByArguments,
  isAlive,
  type ProcessFamily,
  type ProcessIdentity,
  receivesSignal,
  signal,
} from "./processes.ts";
import {
  type ContainerRecord,
  type Loss,
  readRecord,
  readTraces,
  type Traces,
  writeRecord,
} from "./records.ts";
import { wrapperName } from "./scripts.ts";

/**
 * Marks the processes of a container, whatever they do to their session. IDs of name spaces would not do,
 * since they are reused at once.
 */
export const containerVariable = "DRAY_CONTAINER_ID";

/** Exists in the directory of a container with an OOM kill. */
const oomName = "oom";

/** Lack of the machine that explains how the program failed, in the directory of a container. */
const hintName = "hint";

export interface ContainerObserver {
  /** Called when the container has started or ended. */
  changed(): void;
  /** Explains the failure of a program that has just ended; undefined if the machine lacks nothing. */
  hint(record: ContainerRecord): string | undefined;
}

/** One container of the host runtime: its record, and the files of its wrapper. */
export class HostContainer {
  readonly directory: string;
  record: ContainerRecord;
  #traces: Traces = { wrapper: undefined, start: undefined, exit: undefined };
  /** Set when the wrapper has ended without an exit code: killed, or by a reboot. */
  #lost: Loss | undefined;
  #watcher: FSWatcher | undefined;
  #released = false;
  readonly #waiting = new Set<() => void>();
  readonly #observer: ContainerObserver;
  readonly #clock: Clock;
  #log: LogTimes | undefined;

  constructor(directory: string, record: ContainerRecord, clock: Clock, observer: ContainerObserver) {
    this.directory = directory;
    this.record = record;
    this.#clock = clock;
    this.#observer = observer;
  }

  get launched(): boolean {
    return this.record.bootId !== undefined;
  }

  get exited(): boolean {
    return this.#traces.exit !== undefined || this.#lost !== undefined;
  }

  /** First process of the program while it runs. */
  get process(): ProcessIdentity | undefined {
    const { start } = this.#traces;
    return !this.exited && start !== undefined && "process" in start && isAlive(start.process)
      ? start.process
      : undefined;
  }

  /** Starts watching the wrapper's files. */
  watch(): void {
    if (this.#watcher !== undefined) return;
    this.#watcher = watch(this.directory, { persistent: false }, (_, file) => {
      if (file === null || file === "start" || file === "exit") this.refresh();
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

  /** Moves the contents of its log to the file `to`. */
  async rotateLog(to: string): Promise<void> {
    const { logPath } = this.record.config;
    const log = this.#log ?? new LogTimes(logPath, this.#clock);
    try {
      await log.rotate(to);
    } finally {
      if (log !== this.#log) log.close();
    }
  }

  /** Stops watching; the next agent adopts the container. */
  release(): void {
    this.#released = true;
    this.unwatch();
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
    let traces = readTraces(this.directory);
    if (traces.exit === undefined && (wrapperGone || !this.#wrapperAlive(traces.wrapper))) {
      // The exit code may have been written after the first read.
      traces = readTraces(this.directory);
      if (traces.exit === undefined) this.#lost = this.#noteLoss();
    }
    this.#traces = traces;
    const { start } = traces;
    if (this.exited) {
      // Read before the cgroup is removed.
      if (oomKills(this.record.bounds ?? []) > 0) note(join(this.directory, oomName), "");
      this.unwatch();
      this.#noteHint();
      this.#killRest();
    }
    if (this.exited || (before.start === undefined && start !== undefined)) {
      for (const wake of this.#waiting) wake();
      this.#waiting.clear();
      this.#observer.changed();
    }
  }

  /** Written once: who has a port is seen only now. A program that a signal ended says nothing. */
  #noteHint(): void {
    const { exit } = this.#traces;
    const path = join(this.directory, hintName);
    if (exit === undefined || exit.code === 0 || exit.code > 128 || existsSync(path)) return;
    const hint = this.#observer.hint(this.record);
    if (hint !== undefined) note(path, hint);
  }

  #hint(): string | undefined {
    const path = join(this.directory, hintName);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }

  /** Written once, so that later agents report the same time. */
  #noteLoss(): Loss {
    const known = readRecord<Loss>(this.directory, "lost");
    if (known !== undefined) return known;
    // As after SIGKILL, which is the likely cause.
    const loss: Loss = { at: this.#clock.now(), exitCode: 137 };
    try {
      writeRecord(join(this.directory, "lost"), JSON.stringify(loss));
    } catch {
      // The disk is full: an agent that starts later finds another time.
    }
    return loss;
  }

  #wrapperAlive(wrapper: ProcessIdentity | undefined): boolean {
    if (this.record.bootId !== bootId()) return false;
    if (wrapper !== undefined) return isAlive(wrapper);
    return this.#findWrapper() !== undefined;
  }

  /** For the moment before the wrapper has written its PID. */
  #findWrapper(): ProcessIdentity | undefined {
    return findByArguments(join(this.directory, "../..", wrapperName), this.directory);
  }

  /** Resolves when the program runs, cannot be started, or has ended. */
  async started(): Promise<void> {
    while (!this.exited && this.#traces.start === undefined) await this.#next();
  }

  async ended(): Promise<void> {
    while (this.launched && !this.exited) await this.#next();
  }

  #next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** Sends a signal to the program's first process, as runtimes do. */
  signal(name: NodeJS.Signals): void {
    this.refresh();
    const process = this.process;
    if (process !== undefined) signal(process.pid, name);
  }

  /** False if the system drops SIGTERM: the program is the first of its name space, and has no handler. */
  heedsTermination(): boolean {
    const first = this.#first();
    return first === undefined || receivesSignal(first.pid, constants.signals.SIGTERM);
  }

  /** Kills remaining processes of the program, as a pid name space would; once, since PIDs are reused. */
  #killRest(): void {
    const done = join(this.directory, "done");
    if (existsSync(done)) return;
    this.#killMembers(true);
    if (this.#members().length === 0) note(done, "");
  }

  /** Every process of the container but the wrapper, which has to write the exit code. */
  #members(): number[] {
    if (this.record.bootId !== bootId()) return [];
    const wrapper = this.#traces.wrapper ?? this.#findWrapper();
    const { cgroup, id } = this.record;
    const { start } = this.#traces;
    let members: number[] = [];
    // The cgroup may have members although the wrapper is gone.
    if (cgroup !== undefined) members = cgroupMembers(cgroup);
    else if (wrapper === undefined) return [];
    else {
      const leaders = start !== undefined && "process" in start ? [wrapper, start.process] : [wrapper];
      members = familyMembers({ leaders, variable: `${containerVariable}=${id}` });
    }
    return members.filter((pid) => pid !== wrapper?.pid && pid !== process.pid && pid !== 1);
  }

  /** How the processes of the program are found while it runs; the shells around it are not among them. */
  get family(): ProcessFamily | undefined {
    const { process } = this;
    return process && { leaders: [process], variable: `${containerVariable}=${this.record.id}` };
  }

  /** The processes of the program while it runs. */
  processes(): number[] {
    this.refresh();
    return this.launched && !this.exited ? this.#members() : [];
  }

  /** Ends everything. Resolves when no process is left. */
  async kill(): Promise<void> {
    if (!this.launched || existsSync(join(this.directory, "done"))) return;
    for (let tries = 0; ; tries++) {
      // The agent that asked has ended, and the next one sees to it.
      if (this.#released) return;
      this.refresh();
      const members = this.#killMembers(tries < 10);
      if (this.exited && members === 0) break;
      const { wrapper } = this.#traces;
      // The wrapper hangs although no member is left.
      if (tries > 20 && members === 0 && wrapper !== undefined && isAlive(wrapper))
        signal(wrapper.pid, "SIGKILL");
      await new Promise((resolve) => setTimeout(resolve, Math.min(2 ** tries, 100)));
    }
    note(join(this.directory, "done"), "");
  }

  /** Ends everything and removes the cgroup, which lies outside the node's folders. */
  async end(): Promise<void> {
    await this.kill();
    const { cgroup, bounds = [] } = this.record;
    const cgroups = cgroup === undefined ? bounds : [...bounds, cgroup];
    // The wrapper is the last process in it, and ends when it has written the exit code.
    for (let tries = 0; !removeBounds(cgroups) && tries < 100 && !this.#released; tries++)
      await new Promise((resolve) => setTimeout(resolve, 10));
  }

  /**
   * Sends SIGKILL to every process but the wrapper; returns their number. With `inOrder` only to the first
   * process of the container's pid name space while it lives: the others end with it, once the tools outside
   * that entered it have reaped what they started there.
   */
  #killMembers(inOrder: boolean): number {
    const { cgroup } = this.record;
    const members = this.#members();
    if (members.length === 0) return 0;
    const first = this.#first();
    if (inOrder && first !== undefined && isAlive(first)) {
      signal(first.pid, "SIGKILL");
      for (const pid of members) signal(pid, "SIGCONT");
      return members.length;
    }
    const kill = (): void => {
      for (const pid of this.#members()) signal(pid, "SIGKILL");
    };
    if (cgroup === undefined) kill();
    else withoutForks(cgroup, kill);
    return members.length;
  }

  /** First process of its own pid name space. */
  #first(): ProcessIdentity | undefined {
    const { start } = this.#traces;
    const { isFirst } = this.record.program ?? {};
    return isFirst && start !== undefined && "process" in start ? start.process : undefined;
  }

  /** Only root is the same user inside and outside of name spaces. */
  #user(): ContainerUser | undefined {
    const { program } = this.record;
    if (program === undefined) return undefined;
    const { user, groups = [] } = program;
    if (user !== undefined) return { ...user, groups: [...new Set([user.gid, ...groups])] };
    return process.getuid?.() === 0 ? { uid: 0, gid: 0, groups: process.getgroups?.() ?? [] } : undefined;
  }

  status(): Container {
    const { id, sandboxId, config, createdAt } = this.record;
    const { start, exit } = this.#traces;
    const startedAt = start !== undefined && "process" in start ? start.at : undefined;
    const user = this.#user();
    const base = {
      id,
      sandboxId,
      config,
      imageRef: config.imageRef,
      ...(user === undefined ? {} : { user }),
      createdAt,
      startedAt,
    };
    if (!this.exited)
      return {
        ...base,
        state: startedAt === undefined ? "created" : "running",
        finishedAt: undefined,
        exitCode: undefined,
        reason: undefined,
        message: undefined,
      };
    if (exit === undefined)
      return {
        ...base,
        state: "exited",
        finishedAt: this.#lost?.at,
        exitCode: this.#lost?.exitCode,
        reason: "ContainerStatusUnknown",
        message: "the container was gone, and nothing had recorded how it ended",
      };
    if (start !== undefined && "error" in start)
      return {
        ...base,
        state: "exited",
        finishedAt: exit.at,
        exitCode: 128,
        reason: "StartError",
        message: `failed to start container "${config.name}": ${start.error}`,
      };
    const reason = exit.code === 0 ? "Completed" : "Error";
    const hint = this.#hint();
    return {
      ...base,
      ...(hint === undefined ? {} : { hint }),
      state: "exited",
      finishedAt: exit.at,
      exitCode: exit.code,
      // As containerd reports it, whichever of its processes was killed.
      reason: existsSync(join(this.directory, oomName)) ? "OOMKilled" : reason,
      message: undefined,
    };
  }
}
