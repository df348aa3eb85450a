import type * as http2 from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../clock.ts";
import {
  type Answer,
  aborted,
  type Link,
  lost,
  NotBegunError,
  pingInterval,
  pingTimeout,
  text,
} from "./connection.ts";
import { Http2Body } from "./http2-body.ts";

const streamWindow = 1 << 20;
const sessionWindow = 16 << 20;
/** RST_STREAM of a request that the server has not looked at (RFC 9113, 8.7). */
const refusedStream = 7;
const cancelled = 8;

/** One HTTP/2 connection over a socket, which is given up when it falls silent. */
export async function http2Link(server: URL, socket: TLSSocket, clock: Clock): Promise<Link> {
  const { connect } = await import("node:http2");
  const session = connect(server.origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: streamWindow },
    maxSessionMemory: 1000,
  });
  session.once("connect", () => {
    if (!session.destroyed) session.setLocalWindowSize(sessionWindow);
  });
  const link = new Http2Link(server, session, socket);
  watchLife(session, socket, clock);
  return link;
}

class Http2Link implements Link {
  readonly #server: URL;
  readonly #session: http2.ClientHttp2Session;
  /** Why the connection as a whole has ended. */
  #failure: unknown;
  #broken = false;
  /** The last stream that a server which goes away has looked at, or will. */
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

  exchange(
    method: string,
    path: string,
    headers: Record<string, string>,
    body: Buffer | undefined,
    signal: AbortSignal,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request(
        { ":method": method, ":path": path, ...headers },
        { endStream: body === undefined },
      );
      const cancel = (): void => {
        if (!stream.closed) stream.close(cancelled);
        stream.destroy();
      };
      let answered = false;
      let failure: unknown;
      signal.addEventListener("abort", cancel, { once: true });
      stream.once("close", () => {
        signal.removeEventListener("abort", cancel);
        if (answered) return;
        reject(signal.aborted ? aborted(signal) : this.#lost(stream, failure));
      });
      stream.on("error", (error) => {
        failure ??= error;
      });
      stream.once("response", (fields) => {
        answered = true;
        const status = Number(fields[":status"]);
        const head: Record<string, string | readonly string[]> = {};
        for (const [name, value] of Object.entries(fields))
          if (value !== undefined && !name.startsWith(":")) head[name] = value;
        const hasBody = method !== "HEAD" && status !== 204 && status !== 304;
        const length = hasBody ? lengthOf(fields["content-length"]) : 0;
        const incoming = new Http2Body(stream, length, () => this.#whyBroken());
        resolve({ status, headers: head, body: incoming, cancel });
      });
      if (body !== undefined) stream.end(body);
    });
  }

  close(error?: Error): void {
    this.#broken = true;
    this.#session.destroy(error);
  }

  #whyBroken(): string | undefined {
    if (!this.#broken) return undefined;
    return this.#failure === undefined ? "the connection broke off" : text(this.#failure);
  }

  /** Why a stream has ended before its answer began. */
  #lost(stream: http2.ClientHttp2Stream, failure: unknown): Error {
    const error = lost(this.#server, this.#failure ?? failure);
    const { id, rstCode } = stream;
    const notBegun = id === undefined || id > this.#lastStream || rstCode === refusedStream;
    return notBegun ? new NotBegunError(error) : error;
  }
}

function lengthOf(header: string | undefined): number | undefined {
  return header === undefined ? undefined : Number(header);
}

/** Pings a silent connection and ends it if no answer comes. */
function watchLife(session: http2.ClientHttp2Session, socket: TLSSocket, clock: Clock): void {
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
