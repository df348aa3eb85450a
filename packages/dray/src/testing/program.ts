/** Runs the command line as a person does: as a process. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The program as it is written. */
export const sources = join(import.meta.dirname, "../main.ts");

export interface Output {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface StartOptions extends User {
  readonly detached?: boolean;
  /** A number is an open file. */
  readonly stdin?: "ignore" | "pipe" | number;
}

export function start(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  { detached = false, stdin = "ignore", ...user }: StartOptions = {},
): ChildProcess {
  // `npm test` names the bundle of the sources, which starts with a third of their processor time.
  const program = env["DRAY_TEST_PROGRAM"] ?? process.env["DRAY_TEST_PROGRAM"] ?? sources;
  return spawn(process.execPath, ["--conditions=dray-source", program, ...args], {
    // A test must not change the kubeconfig of the user who runs it.
    env: { ...process.env, KUBECONFIG: "", ...env },
    detached,
    stdio: [stdin, "pipe", "pipe"],
    ...user,
  });
}

/** The user of a process; default: the user who runs the test. */
export interface User {
  readonly uid?: number;
  readonly gid?: number;
}

/** A user without access to some files: the superuser can read and write everything. */
export const ordinaryUser: User = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

/** Collects the output of a process until it has ended. */
export async function output(child: ChildProcess): Promise<Output> {
  let [stdout, stderr] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, stdout, stderr };
}

export const dray = (args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Output> =>
  output(start(args, env));

export async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "dray-cli-"));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the processes whose command line or environment contains `text`, optionally of the program `name`.
 */
export function processesWith(text: string, name?: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        if (name !== undefined && readFileSync(`/proc/${pid}/comm`, "utf8") !== `${name}\n`) return false;
        return ["cmdline", "environ"].some((file) =>
          readFileSync(`/proc/${pid}/${file}`, "utf8").includes(text),
        );
      } catch {
        // It has ended.
        return false;
      }
    })
    .map(Number);
}
