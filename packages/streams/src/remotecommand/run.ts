import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { SpdySession } from "../spdy/session.ts";
import type { SpdyStream } from "../spdy/stream.ts";
import { streamTypeHeader } from "./protocol.ts";
import { resizeMessage, type TerminalSize } from "./resize.ts";
import { type Outcome, outcomeOf } from "./status.ts";

/** The local streams of a client of a remote command. */
export interface LocalStreams {
  readonly stdin?: Readable;
  /** Stays open at the end, as does `stderr`. */
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** With a terminal there is no stderr, but there are sizes. */
  readonly tty: boolean;
  readonly sizes?: AsyncIterable<TerminalSize>;
}

/** Maximum length of an error stream, in bytes. */
const maxErrorBytes = 1024 * 1024;

/**
 * The client's side of exec or attach over SPDY (client-go's `remotecommand`). Opens the streams, copies
 * until stdout and stderr have ended, and resolves with the content of the error stream. Rejects if a stream
 * was refused.
 */
export async function runRemoteCommand(
  session: SpdySession,
  local: LocalStreams,
  protocol: string,
): Promise<Outcome> {
  const open = (type: string): Promise<SpdyStream> => session.createStream({ [streamTypeHeader]: type });
  // Opens all streams before it sends data: the server starts when it has them.
  const error = await open("error");
  const stdin = local.stdin ? await open("stdin") : undefined;
  const stdout = local.stdout ? await open("stdout") : undefined;
  const stderr = local.stderr && !local.tty ? await open("stderr") : undefined;
  const resize = local.tty && /^v[345]\./.test(protocol) ? await open("resize") : undefined;
  const said = readAll(error);
  if (local.stdin && stdin) copyInput(local.stdin, stdin);
  if (local.sizes && resize) sendSizes(local.sizes, resize);
  await Promise.all([copyOutput(stdout, local.stdout), copyOutput(stderr, local.stderr)]);
  return outcomeOf(await said, protocol);
}

/** Copies until either side ends. Passes the end of the input on to the command. */
function copyInput(from: Readable, to: SpdyStream): void {
  // The end of this direction means that the command reads no more.
  to.once("end", () => to.end());
  to.resume();
  from.once("error", () => to.end());
  to.once("close", () => {
    from.unpipe(to);
    // Discards further input while the output lasts.
    from.resume();
  });
  from.pipe(to);
}

async function copyOutput(from: SpdyStream | undefined, to: Writable | undefined): Promise<void> {
  if (from === undefined || to === undefined) return;
  try {
    await pipeline(from, to, { end: false });
  } catch {
    // The reader or the command has ended. The error stream has the result.
  }
}

function sendSizes(sizes: AsyncIterable<TerminalSize>, to: SpdyStream): void {
  void (async () => {
    for await (const size of sizes) {
      if (to.destroyed) return;
      to.write(resizeMessage(size));
    }
  })();
}

async function readAll(stream: SpdyStream): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of stream as AsyncIterable<Buffer>) {
      parts.push(part);
      length += part.length;
      if (length > maxErrorBytes) break;
    }
  } catch {
    // A stream that was cut off ends with what has arrived.
  }
  return Buffer.concat(parts);
}
