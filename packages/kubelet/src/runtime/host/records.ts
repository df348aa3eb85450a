import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ContainerEdits } from "@dray/cdi";
import { writeFileAtomicallySync } from "@dray/files";
import type { ContainerConfig, MountConfig, SandboxConfig } from "../config.ts";
import type { ProgramLimit } from "./loader/program-limit.ts";
import type { User } from "./privileges.ts";
import { type ProcessIdentity, parseStat } from "./processes.ts";

/** Record of a sandbox on disk. */
export interface SandboxRecord {
  readonly id: string;
  readonly config: SandboxConfig;
  readonly ip: string;
  readonly createdAt: number;
  /** The boot in which it was made: a reboot ends everything in it. */
  readonly bootId: string;
  readonly stopped?: true;
  /** Its containers share a pid name space. */
  readonly sharesPids?: true;
  /** First process of that name space. */
  readonly process?: ProcessIdentity;
}

/** Record of a container on disk; its state is in the files that its wrapper writes beside it. */
export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  /** Edits of its CDI devices. */
  readonly edits: ContainerEdits;
  readonly createdAt: number;
  /** Lack of the machine for its program, which takes no library. */
  readonly limit?: ProgramLimit;
  /** The boot in which it was started; absent before. */
  readonly bootId?: string;
  /** Folder of the cgroup that contains its processes, if there are cgroups. */
  readonly cgroup?: string;
  /** Folders of the cgroups that limit it. */
  readonly bounds?: readonly string[];
  /** Environment, working directory and mounts of its program, for commands that join it. */
  readonly program?: {
    readonly env: Readonly<Record<string, string>>;
    readonly directory: string;
    readonly mounts: readonly MountConfig[];
    readonly isolated: boolean;
    /** The container has a pid name space that is not the machine's. */
    readonly pids?: boolean;
    /** It is the container's own: the first process of the program is the first one there. */
    readonly isFirst?: boolean;
    /** Words before its commands, which drop privileges. */
    readonly privileges?: readonly string[];
    /** Undefined for the agent's user. */
    readonly user?: User;
    /** Supplementary groups; absent from records of older agents. */
    readonly groups?: readonly number[];
  };
}

/**
 * Replaces a record. Not synced to disk: a reboot ends what the record is about, and every start of a
 * container would wait.
 */
export function writeRecord(path: string, text: string): void {
  writeFileAtomicallySync(path, text, { durable: false });
}

/**
 * Returns undefined also for a file that a power failure left empty or filled with zeros. Throws for other
 * damage.
 */
export function readRecord<T>(directory: string, name: string): T | undefined {
  const path = join(directory, name);
  const text = readIfThere(path);
  if (text === undefined || /^\0*$/.test(text)) return undefined;
  try {
    // Written by this program.
    return JSON.parse(text) as T;
  } catch (error) {
    throw new Error(
      `${path} is damaged: ${(error as Error).message}; remove it, with the processes it tells of`,
      {
        cause: error,
      },
    );
  }
}

/** When a container was found to have ended without an exit code, and the code that is reported. */
export interface Loss {
  readonly at: number;
  readonly exitCode: number;
}

export interface Started {
  readonly process: ProcessIdentity;
  readonly at: number;
}

/** Files that the wrapper has written so far. */
export interface Traces {
  readonly wrapper: ProcessIdentity | undefined;
  /** First process of the container's program, or why it was not started. */
  readonly start: Started | { readonly error: string } | undefined;
  readonly exit: { readonly code: number; readonly at: number } | undefined;
}

export function readTraces(directory: string): Traces {
  const exitText = readIfThere(join(directory, "exit"));
  const exit = exitText?.endsWith("\n")
    ? { code: Number.parseInt(exitText, 10), at: modified(join(directory, "exit")) }
    : undefined;
  const startText = readIfThere(join(directory, "start"));
  const process = parseStat(/^started (.*)\n/m.exec(startText ?? "")?.[1] ?? "");
  let start: Traces["start"];
  if (process !== undefined) start = { process, at: modified(join(directory, "start")) };
  else if (exit !== undefined)
    start = {
      error: startText?.trim() || readIfThere(join(directory, "error"))?.trim() || "the shell failed",
    };
  return { wrapper: parseStat(readIfThere(join(directory, "wrapper")) ?? ""), start, exit };
}

function modified(path: string): number {
  return statSync(path).mtimeMs;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
