import { execFile } from "node:child_process";
import { chownSync, closeSync, constants, openSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { promisify } from "node:util";
import type { User } from "./privileges.ts";

/** Makes named pipes that only `user`, or the agent's user, can open. */
export async function makePipes(paths: readonly string[], user: User | undefined): Promise<void> {
  if (paths.length > 0) await promisify(execFile)("mkfifo", ["-m", "600", "--", ...paths]);
  if (user !== undefined) for (const path of paths) chownSync(path, user.uid, user.gid);
}

/** Both ends of a pipe: a stream for the agent, and a file descriptor for the program. */
export interface Pipe {
  readonly ours: Socket;
  readonly theirs: number;
}

/**
 * Opens a named pipe for a program that is to be started, and removes its name. Node would make a socket,
 * which a program cannot reopen as /dev/stdin or /dev/stdout. The caller closes `theirs`.
 */
export function openPipe(path: string, direction: "to program" | "from program"): Pipe {
  const { O_RDWR, O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
  const toProgram = direction === "to program";
  // With both ends open, the next two calls do not block.
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

/** Opens a named pipe that a program reads; undefined if it has no reader any more. */
export function openWriter(path: string): Socket | undefined {
  try {
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    return new Socket({ fd, readable: false, writable: true });
  } catch (error) {
    if (["ENXIO", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
