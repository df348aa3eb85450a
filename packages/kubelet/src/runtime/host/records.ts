import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ContainerEdits } from "@dray/cdi";
import { writeFileAtomicallySync } from "@dray/files";
import type { ContainerConfig, MountConfig, SandboxConfig } from "../config.ts";
import type { User } from "./privileges.ts";
import { type ProcessIdentity, parseStat } from "./processes.ts";
import { initName } from "./scripts.ts";

/** What is kept of a sandbox on disk. */
export interface SandboxRecord {
  readonly id: string;
  readonly config: SandboxConfig;
  readonly ip: string;
  readonly createdAt: number;
  /** The boot in which it was made: with the machine everything in it ended. */
  readonly bootId: string;
  readonly stopped?: true;
}

/** What is kept of a container on disk; how it fares is told by the files that its wrapper leaves beside it. */
export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  /** What its CDI devices change. */
  readonly edits: ContainerEdits;
  readonly createdAt: number;
  /** The boot in which it was started; absent before. */
  readonly bootId?: string;
  /** The folder of its cgroup, where there are cgroups: its processes cannot leave it, whatever they do. */
  readonly cgroup?: string;
  /** The folders of the cgroups that bound what it uses. */
  readonly bounds?: readonly string[];
  /** Environment, working directory and mounts of its program, for commands that join it. */
  readonly program?: {
    readonly env: Readonly<Record<string, string>>;
    readonly directory: string;
    readonly mounts: readonly MountConfig[];
    readonly isolated: boolean;
    /** It has a pid name space. */
    readonly pids?: boolean;
    /** Words in front of what runs in it, which take privileges away. */
    readonly privileges?: readonly string[];
    /** Undefined: the agent's user. */
    readonly user?: User;
    /** Beside the user's own; absent from records of older agents. */
    readonly groups?: readonly number[];
  };
}

/**
 * Replaces a record. It does not wait for the disk: with the machine ends what a record tells of, and every start of a
 * container would wait.
 */
export function writeRecord(path: string, text: string): void {
  writeFileAtomicallySync(path, text, { durable: false });
}

/** Undefined also for a file that a power failure left empty or filled with zeros. Other damage is an error. */
export function readRecord<T>(directory: string, name: string): T | undefined {
  const path = join(directory, name);
  const text = readIfThere(path);
  if (text === undefined || /^\0*$/.test(text)) return undefined;
  try {
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

/** When a container was found to have ended without a word, and the exit code that is told of it. */
export interface Loss {
  readonly at: number;
  readonly exitCode: number;
}

export interface Started {
  readonly process: ProcessIdentity;
  readonly at: number;
}

/** What the wrapper has written so far. */
export interface Traces {
  readonly wrapper: ProcessIdentity | undefined;
  /** The first process of its pid name space, if it has one. */
  readonly init: ProcessIdentity | undefined;
  /** The first process of the container's program, or why it was not started. */
  readonly start: Started | { readonly error: string } | undefined;
  readonly exit: { readonly code: number; readonly at: number } | undefined;
}

export function readTraces(directory: string): Traces {
  const identity = (name: string): ProcessIdentity | undefined =>
    parseStat(readIfThere(join(directory, name)) ?? "");
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
  return { wrapper: identity("wrapper"), init: identity(initName), start, exit };
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
