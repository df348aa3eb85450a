import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { type Duplex, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import {
  type LocalStreams,
  portForwardProtocol,
  protocolHeader,
  remoteCommandProtocols,
  runRemoteCommand,
  type SpdySession,
  spdySession,
  streamTypeHeader,
} from "@dray/streams";
import { RuntimeError } from "../error.ts";
import type { ClientStreams } from "../service.ts";

/** Maximum length of an error message of a streaming server, in bytes. */
const maxReasonBytes = 4096;

interface Dialled {
  readonly session: SpdySession;
  readonly protocol: string;
}

/**
 * Opens a URL of the runtime's streaming server with SPDY/3.1, which every CRI runtime serves. The URL came
 * over the runtime's own socket and holds a token for one use, so a certificate would prove nothing more.
 */
function dial(url: string, protocols: readonly string[], signal: AbortSignal | undefined): Promise<Dialled> {
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown): void =>
      reject(new RuntimeError("StreamingError", `the runtime's streaming server: ${why}`, { cause }));
    const options = {
      method: "POST",
      agent: false,
      ...(signal !== undefined && { signal }),
      rejectUnauthorized: false,
      headers: {
        connection: "Upgrade",
        upgrade: "SPDY/3.1",
        "content-length": "0",
        [protocolHeader]: protocols as string[],
      },
    } as const;
    const request = url.startsWith("https:") ? httpsRequest(url, options) : httpRequest(url, options);
    request.on("error", (error) => fail(error.message, error));
    request.on("response", (response: IncomingMessage) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text = (text + chunk).slice(0, maxReasonBytes);
      });
      response.on("close", () => fail(`${response.statusCode} ${text.trim()}`));
    });
    request.on("upgrade", (response: IncomingMessage, socket: Socket, head: Buffer) => {
      const protocol = response.headers[protocolHeader];
      const session = spdySession(socket, "client", { head });
      // A server that names no protocol uses the oldest one; callers offer at least one.
      resolve({ session, protocol: typeof protocol === "string" ? protocol : protocols.at(-1)! });
    });
    request.end();
  });
}

/**
 * Closes the session when the signal aborts. Returns a promise that rejects then, and a function that ends
 * the watch.
 */
function abortedBy(signal: AbortSignal, session: SpdySession): { aborted: Promise<never>; stop(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const abort = (): void => {
    session.close();
    reject(signal.reason);
  };
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return { aborted: promise, stop: () => signal.removeEventListener("abort", abort) };
}

/**
 * Runs the command of an Exec or Attach URL with the client's streams; the outputs end with it. Resolves with
 * the exit code; rejects with the runtime's error, or when the signal aborts.
 */
export async function remoteCommand(
  url: string,
  tty: boolean,
  streams: ClientStreams,
  signal: AbortSignal,
): Promise<number> {
  const { stdin, stdout, stderr, resize } = streams;
  const outputs = [stdout, stderr].filter((each) => each !== undefined);
  try {
    const { session, protocol } = await dial(url, remoteCommandProtocols, signal);
    const { aborted, stop } = abortedBy(signal, session);
    const local: LocalStreams = {
      tty,
      ...(stdin !== undefined && { stdin }),
      ...(stdout !== undefined && { stdout }),
      ...(stderr !== undefined && { stderr }),
      ...(resize !== undefined && { sizes: resize }),
    };
    try {
      const outcome = await Promise.race([runRemoteCommand(session, local, protocol), aborted]);
      if (outcome.type === "failed") throw new RuntimeError("ExecError", outcome.message);
      return outcome.type === "exited" ? outcome.code : 0;
    } finally {
      stop();
      session.close();
    }
  } finally {
    for (const output of outputs) output.end();
  }
}

/** A sink, since the runtime requires at least one stream. */
export function discard(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

/**
 * Connects a stream with a port by a PortForward URL, until both sides have ended. Rejects with the runtime's
 * error, for instance if nothing listens.
 */
export async function forwardPort(url: string, port: number, stream: Duplex): Promise<void> {
  const { session } = await dial(url, [portForwardProtocol], undefined);
  try {
    // The only one of its session.
    const requestid = "0";
    const open = (type: string) =>
      session.createStream({ [streamTypeHeader]: type, port: String(port), requestid });
    const error = await open("error");
    error.end();
    const data = await open("data");
    let reason = Buffer.alloc(0);
    error.on("data", (chunk: Buffer) => {
      reason = Buffer.concat([reason, chunk]).subarray(0, maxReasonBytes);
    });
    stream.pipe(data);
    data.pipe(stream);
    // Input after the other side has closed is discarded.
    data.once("close", () => stream.resume());
    stream.once("error", () => data.destroy());
    stream.once("close", () => data.destroy());
    await Promise.allSettled([finished(error, { writable: false }), finished(data, { writable: false })]);
    if (reason.length > 0) {
      stream.destroy();
      throw new RuntimeError("PortForwardError", reason.toString("utf8"));
    }
    await finished(stream).catch(() => {});
  } finally {
    session.close();
  }
}
