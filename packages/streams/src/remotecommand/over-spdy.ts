import type { Duplex } from "node:stream";
import { finished } from "node:stream/promises";
import { type SpdyOptions, type SpdySession, spdySession } from "../spdy/session.ts";
import type { SpdyStream } from "../spdy/stream.ts";
import { streamTypeHeader } from "./protocol.ts";
import type { RemoteCommand, RemoteCommandOptions } from "./remote-command.ts";
import { type TerminalSize, terminalSizes } from "./resize.ts";
import { statusBytes } from "./status.ts";

type Kind = "error" | "stdin" | "stdout" | "stderr" | "resize";

/**
 * Takes over a connection that was upgraded to SPDY/3.1 for exec or attach. Resolves when the client has
 * opened all streams that it requested. Rejects and ends the connection if `signal` is aborted or the client
 * disconnects before that.
 */
export async function remoteCommandOverSpdy(
  socket: Duplex,
  wanted: RemoteCommandOptions,
  protocol: string,
  options: Pick<SpdyOptions, "head" | "log"> & { readonly signal?: AbortSignal } = {},
): Promise<RemoteCommand> {
  const missing = new Set<Kind>(["error"]);
  if (wanted.stdin) missing.add("stdin");
  if (wanted.stdout) missing.add("stdout");
  if (wanted.stderr && !wanted.tty) missing.add("stderr");
  if (wanted.tty && /^v[345]\./.test(protocol)) missing.add("resize");
  const streams: Partial<Record<Kind, SpdyStream>> = {};
  const complete = Promise.withResolvers<void>();
  const session = spdySession(socket, "server", {
    ...options,
    onStream(stream) {
      const kind = stream.headers[streamTypeHeader] as Kind;
      if (!missing.delete(kind)) throw new Error(`unexpected stream type: ${JSON.stringify(kind)}`);
      streams[kind] = stream;
      // After the response to the last stream has been sent.
      if (missing.size === 0) setImmediate(complete.resolve);
    },
  });
  const late = (): void => {
    complete.reject(new Error("timed out waiting for client to create streams"));
    session.close();
  };
  options.signal?.addEventListener("abort", late, { once: true });
  session.closed.then(() => complete.reject(new Error("the client went away before it opened its streams")));
  try {
    await complete.promise;
  } finally {
    options.signal?.removeEventListener("abort", late);
  }
  const { error, stdin, stdout, stderr, resize } = streams;
  return {
    ...(stdin ? { stdin } : {}),
    ...(stdout ? { stdout } : {}),
    ...(stderr ? { stderr } : {}),
    sizes: resize ? terminalSizes(resize) : noSizes(),
    closed: session.closed,
    // The command begins when no stream is missing, this one included.
    finish: (status) => finish(session, error!, [stdout, stderr], statusBytes(status, protocol)),
  };
}

async function finish(
  session: SpdySession,
  error: SpdyStream,
  outputs: readonly (SpdyStream | undefined)[],
  status: Buffer,
): Promise<void> {
  const sent = outputs.map((output) => {
    if (output === undefined || output.destroyed) return undefined;
    output.end();
    return finished(output, { readable: false });
  });
  // Also settles if the client disconnects or closes an output.
  await Promise.allSettled(sent);
  if (!error.destroyed) {
    error.end(status);
    await Promise.allSettled([finished(error, { readable: false })]);
  }
  session.close();
  await session.closed;
}

async function* noSizes(): AsyncGenerator<TerminalSize, void, undefined> {}
