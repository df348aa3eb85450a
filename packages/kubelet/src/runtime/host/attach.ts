import { closeSync, fstatSync, openSync, read, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import type { ContainerConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import type { ClientStreams } from "../service.ts";
import { makePipes, openWriter } from "./pipes.ts";
import type { User } from "./privileges.ts";
import { type ProcessIdentity, processStat } from "./processes.ts";
import { closeName, stdinName } from "./scripts.ts";
import { followSizes } from "./terminal.ts";

/** A container whose output is a file, and whose input is a pipe in its directory. */
export interface LoggedContainer {
  readonly directory: string;
  readonly record: { readonly config: ContainerConfig };
  readonly launched: boolean;
  readonly exited: boolean;
  /** Process in the container's terminal, while the container runs. */
  readonly process: ProcessIdentity | undefined;
  /**
   * Calls `listener` when its log has grown, and when it has ended. Returns a function that removes the
   * listener.
   */
  onLog(listener: () => void): () => void;
  /**
   * Calls `listener` with the path to which its log was moved. Returns a function that removes the listener.
   */
  onRotation(listener: (to: string) => void): () => void;
}

/** Makes the pipes of a container with an input; the wrapper holds them open while no agent runs. */
export async function makeInput(directory: string, user: User | undefined): Promise<void> {
  await makePipes(
    [stdinName, closeName].map((name) => join(directory, name)),
    user,
  );
}

/**
 * Connects a client with a running container: sends what is appended to its log, and writes to its input.
 * Resolves when the container has ended and all output is sent, or the client's input has ended; rejects when
 * `signal` aborts.
 */
export async function attachTo(
  container: LoggedContainer,
  streams: ClientStreams,
  signal: AbortSignal,
): Promise<void> {
  const { process, record } = container;
  if (process === undefined)
    throw new RuntimeError("ContainerNotRunning", `container "${record.config.name}" does not run`);
  const { stdin: hasInput, stdinOnce, tty } = record.config;
  const { resize, stdin } = streams;
  const stat = processStat(process.pid);
  if (tty && resize !== undefined && stat !== undefined) void followSizes(stat, resize).catch(() => {});
  const over = new AbortController();
  const end = (): void => over.abort();
  signal.addEventListener("abort", end, { once: true });
  if (stdin !== undefined && hasInput)
    void sendInput(container.directory, stdin).then(() => {
      // With `stdinOnce` the container gets the end of the input and runs on; otherwise the client is done.
      if (stdinOnce && !tty) closeInput(container.directory);
      else over.abort();
    });
  else stdin?.resume();
  try {
    // Both outputs are in one file, in the order of the writes.
    const output = streams.stdout ?? streams.stderr;
    if (signal.aborted) over.abort();
    await followOutput(container, output, over.signal);
    streams.stdout?.end();
    streams.stderr?.end();
    if (signal.aborted) throw new RuntimeError("AttachCanceled", "the client has gone");
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** Resolves when the client's input has ended and was written, or has no reader any more. */
function sendInput(directory: string, from: Readable): Promise<void> {
  const to = openWriter(join(directory, stdinName));
  return new Promise((resolve) => {
    if (to === undefined) {
      from.resume();
      from.once("close", resolve);
      return;
    }
    to.on("error", () => {});
    to.once("close", () => {
      from.unpipe(to);
      from.resume();
      resolve();
    });
    // A client that is cut off sends no `end`.
    from.once("close", () => to.end());
    from.pipe(to);
  });
}

/** Closes the container's input, for later agents too. */
function closeInput(directory: string): void {
  // The wrapper may have ended at this moment.
  openWriter(join(directory, closeName))
    ?.on("error", () => {})
    .end("\n");
  for (const name of [closeName, stdinName])
    try {
      unlinkSync(join(directory, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
}

/** Sends what is appended to the log until the container has ended, or `over` aborts. */
async function followOutput(
  container: LoggedContainer,
  to: Writable | undefined,
  over: AbortSignal,
): Promise<void> {
  const file = openSync(container.record.config.logPath, "r");
  let position = fstatSync(file).size;
  const chunk = Buffer.alloc(64 << 10);
  const readSome = promisify(read);
  const sendNew = async (): Promise<void> => {
    // A program that reopens /dev/stdout can truncate the file.
    position = Math.min(position, fstatSync(file).size);
    while (to !== undefined && !to.destroyed && !over.aborted) {
      const { bytesRead } = await readSome(file, chunk, 0, chunk.length, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      if (!to.write(Buffer.from(chunk.subarray(0, bytesRead)))) await drained(to, over);
    }
  };
  try {
    while (!over.aborted && !container.exited) {
      // Listens before it reads, so that no change in between is missed.
      let wake = (): void => {};
      const more = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const unlisten = container.onLog(wake);
      over.addEventListener("abort", wake, { once: true });
      await sendNew();
      if (!container.exited && !over.aborted) await more;
      unlisten();
      over.removeEventListener("abort", wake);
    }
    await sendNew();
  } finally {
    closeSync(file);
  }
}

function drained(to: Writable, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      for (const name of ["drain", "close", "error"]) to.off(name, done);
      over.removeEventListener("abort", done);
      resolve();
    };
    for (const name of ["drain", "close", "error"]) to.on(name, done);
    over.addEventListener("abort", done);
  });
}
