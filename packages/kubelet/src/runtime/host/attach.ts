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

/** A container whose output goes to a file, and whose input is a pipe in its directory. */
export interface LoggedContainer {
  readonly directory: string;
  readonly record: { readonly config: ContainerConfig };
  readonly launched: boolean;
  readonly exited: boolean;
  /** The process in the container's terminal, while the container runs. */
  readonly process: ProcessIdentity | undefined;
  /** Calls `listener` when more is in its log, and when it has ended. Answers a function that ends this. */
  onLog(listener: () => void): () => void;
  /** Calls `listener` with the place to which its log was moved. Answers a function that ends this. */
  onRotation(listener: (to: string) => void): () => void;
}

/** Makes the pipes of a container that has an input: the wrapper holds them open while no agent runs. */
export async function makeInput(directory: string, user: User | undefined): Promise<void> {
  await makePipes(
    [stdinName, closeName].map((name) => join(directory, name)),
    user,
  );
}

/**
 * Connects a client with a running container: sends what is added to its log, and writes to its input. Resolves when
 * the container has ended and all is sent, or the client's input has; rejects when `signal` aborts.
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
      // What the client sent last is for a program that goes on; in other cases the client has done.
      if (stdinOnce && !tty) closeInput(container.directory);
      else over.abort();
    });
  else stdin?.resume();
  try {
    // Both outputs are one file, in the order in which they were written.
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

/** Resolves when the client's input has ended, and the container has it, or when nobody reads it any more. */
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
    // Ends without an `end` when the client is cut off.
    from.once("close", () => to.end());
    from.pipe(to);
  });
}

/** The container reads the end of its input; it has none from now on, for later agents too. */
function closeInput(directory: string): void {
  // The wrapper may end at this moment: then nobody has to be told.
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

/** Sends what is added to the log until the container has ended, or `over` aborts. */
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
    // A program that opens /dev/stdout anew can cut the file off.
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
      // First listen, then look: what comes in between is not missed.
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
