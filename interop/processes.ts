import { AssertionError } from "node:assert";
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A program that runs until it is stopped; what it prints goes to one file. */
export interface Program {
  readonly name: string;
  readonly log: string;
  readonly pid: number;
  /** When it was started, as performance.now() counts. */
  readonly started: number;
  /** Set when it has ended, by itself or because it was stopped. */
  readonly ended: string | undefined;
  /** Resolves then. */
  readonly exited: Promise<void>;
  /** Asks it to end, and kills it after ten seconds. */
  stop(): Promise<void>;
}

/** Called when this process ends. They share one listener, since Node warns of more than ten. */
const atExit = new Set<() => void>();
process.once("exit", () => {
  for (const end of atExit) end();
});

/** Starts a program; its standard output and error go to `log`. It is killed when this process exits. */
export function start(
  name: string,
  [file, ...args]: readonly [file: string, ...args: string[]],
  log: string,
  env: NodeJS.ProcessEnv = process.env,
): Program {
  const output = openSync(log, "w");
  const started = performance.now();
  const child: ChildProcess = spawn(file, args, { stdio: ["ignore", output, output], env });
  let ended: string | undefined;
  const kill = (): void => void child.kill("SIGKILL");
  atExit.add(kill);
  const exited = new Promise<void>((resolve) => {
    const end = (how: string) => {
      ended ??= how;
      atExit.delete(kill);
      resolve();
    };
    child.once("error", (error) => end(error.message));
    child.once("exit", (code, signal) => end(`ended with ${code ?? signal}`));
  });
  return {
    name,
    log,
    pid: child.pid ?? 0,
    started,
    exited,
    get ended() {
      return ended;
    },
    async stop() {
      child.kill("SIGTERM");
      const timeout = new AbortController();
      sleep(10_000, undefined, { signal: timeout.signal }).then(kill, () => {});
      await exited;
      timeout.abort();
    },
  };
}

/** Throws an error with the last of what it has printed if it has ended. */
export function assertRuns({ name, ended, log }: Program): void {
  const message = () => `${name} ${ended}:\n${readFileSync(log, "utf8").slice(-2000)}`;
  if (ended !== undefined) throw new AssertionError({ message: message() });
}

/** Resident set size in MiB (VmRSS of proc(5)). */
export const resident = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

/**
 * Milliseconds of CPU that the programs have used (utime and stime of proc(5), in hundredths of a second).
 */
export function cpuTime(programs: readonly Pick<Program, "pid">[]): number {
  return programs.reduce((sum, { pid }) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return sum + (Number(fields[11]) + Number(fields[12])) * 10;
  }, 0);
}
