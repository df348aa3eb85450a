import type * as http2 from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../base/clock.ts";
import {
  aborted,
  type Connection,
  errorText,
  lost,
  NotProcessedError,
  pingInterval,
  pingTimeout,
  type RawResponse,
  type WireRequest,
} from "./connection.ts";
import { Http2Body } from "./http2-body.ts";

const streamWindow = 1 << 20;
const sessionWindow = 16 << 20;
/**
 * Error codes of RST_STREAM: the server has not processed the request (RFC 9113, 8.7); the client cancels it.
 */
const refusedStream = 7;
const cancelled = 8;

/** Makes an HTTP/2 connection over a socket. It ends if the server does not respond to pings. */
export async function http2Connection(server: URL, socket: TLSSocket, clock: Clock): Promise<Connection> {
  const { connect } = await import("node:http2");
  const session = connect(server.origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: streamWindow },
    maxSessionMemory: 1000,
  });
  session.once("connect", () => {
    if (!session.destroyed) session.setLocalWindowSize(sessionWindow);
  });
  const connection = new Http2Connection(server, session, socket);
  pingWhenSilent(session, socket, clock);
  return connection;
}

class Http2Connection implements Connection {
  readonly #server: URL;
  readonly #session: http2.ClientHttp2Session;
  /** Why the connection has ended. */
  #failure: unknown;
  #broken = false;
  /** The last stream that the server processes, from its GOAWAY frame. */
  #lastStream = Number.POSITIVE_INFINITY;

  constructor(server: URL, session: http2.ClientHttp2Session, socket: TLSSocket) {
    this.#server = server;
    this.#session = session;
    session.on("error", (error) => {
      this.#failure = error;
      this.#broken = true;
    });
    session.on("goaway", (_code, lastStream) => {
      this.#lastStream = lastStream;
    });
    socket.once("close", () => {
      this.#broken = true;
    });
  }

  get usable(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  request({ method, path, headers, body, signal }: WireRequest): Promise<RawResponse> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request(
        { ":method": method, ":path": path, ...headers },
        { endStream: body === undefined },
      );
      const cancel = (): void => {
        if (!stream.closed) stream.close(cancelled);
        stream.destroy();
      };
      let responded = false;
      let failure: unknown;
      signal.addEventListener("abort", cancel, { once: true });
      stream.once("close", () => {
        signal.removeEventListener("abort", cancel);
        if (responded) return;
        reject(signal.aborted ? aborted(signal) : this.#lost(stream, failure));
      });
      stream.on("error", (error) => {
        failure ??= error;
      });
      stream.once("response", (fields) => {
        responded = true;
        const status = Number(fields[":status"]);
        const head: Record<string, string | readonly string[]> = {};
        for (const [name, value] of Object.entries(fields))
          if (value !== undefined && !name.startsWith(":")) head[name] = value;
        const hasBody = method !== "HEAD" && status !== 204 && status !== 304;
        const length = hasBody ? lengthOf(fields["content-length"]) : 0;
        const incoming = new Http2Body(stream, length, () => this.#brokenReason());
        resolve({ status, headers: head, body: incoming, cancel });
      });
      if (body !== undefined) stream.end(body);
    });
  }

  close(error?: Error): void {
    this.#broken = true;
    this.#session.destroy(error);
  }

  #brokenReason(): string | undefined {
    if (!this.#broken) return undefined;
    return this.#failure === undefined ? "the connection broke off" : errorText(this.#failure);
  }

  /** Returns why a stream has ended without a response. */
  #lost(stream: http2.ClientHttp2Stream, failure: unknown): Error {
    const error = lost(this.#server, this.#failure ?? failure);
    const { id, rstCode } = stream;
    const notProcessed = id === undefined || id > this.#lastStream || rstCode === refusedStream;
    return notProcessed ? new NotProcessedError(error) : error;
  }
}

function lengthOf(header: string | undefined): number | undefined {
  return header === undefined ? undefined : Number(header);
}

/** Pings a silent connection, and ends it if there is no response. */
function pingWhenSilent(session: http2.ClientHttp2Session, socket: TLSSocket, clock: Clock): void {
  let read = socket.bytesRead;
  const check = (): void => {
    if (session.destroyed) return;
    if (socket.bytesRead !== read) {
      read = socket.bytesRead;
      cancel = clock.after(pingInterval, check);
      return;
    }
    const giveUp = clock.after(pingTimeout, () =>
      session.destroy(new Error(`no answer to a ping for ${pingTimeout / 1000} s`)),
    );
    cancel = giveUp;
    session.ping((error) => {
      giveUp();
      if (error !== null) return;
      read = socket.bytesRead;
      cancel = clock.after(pingInterval, check);
    });
  };
  let cancel = clock.after(pingInterval, check);
  session.once("close", () => cancel());
}
