import { execFile } from "node:child_process";
import { chownSync, closeSync, constants, openSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { promisify } from "node:util";
import type { User } from "./privileges.ts";

/** Makes named pipes that only `user` can open, or this user. */
export async function makePipes(paths: readonly string[], user: User | undefined): Promise<void> {
  if (paths.length > 0) await promisify(execFile)("mkfifo", ["-m", "600", "--", ...paths]);
  if (user !== undefined) for (const path of paths) chownSync(path, user.uid, user.gid);
}

/** Both ends of a pipe: a stream for the agent, and a file descriptor for the program that is to be started. */
export interface Pipe {
  readonly ours: Socket;
  readonly theirs: number;
}

/**
 * Opens a named pipe for a program to be started, and takes its name away. Node would give it a socket, which a
 * program cannot open again as /dev/stdin or /dev/stdout. The caller closes `theirs`.
 */
export function openPipe(path: string, direction: "to program" | "from program"): Pipe {
  const { O_RDWR, O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
  const toProgram = direction === "to program";
  // With both ends open neither of the next two has to wait.
  const both = openSync(path, O_RDWR | O_NONBLOCK);
  try {
    const theirs = openSync(path, toProgram ? O_RDONLY : O_WRONLY);
    const fd = openSync(path, (toProgram ? O_WRONLY : O_RDONLY) | O_NONBLOCK);
    unlinkSync(path);
    return { ours: new Socket({ fd, readable: !toProgram, writable: toProgram }), theirs };
  } finally {
    closeSync(both);
  }
}

/** Opens a named pipe that some program reads; undefined if none does any more. */
export function openWriter(path: string): Socket | undefined {
  try {
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    return new Socket({ fd, readable: false, writable: true });
  } catch (error) {
    if (["ENXIO", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
