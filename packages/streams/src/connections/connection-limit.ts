import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Server, Socket } from "node:net";

/** A connection of a client. */
interface Connection {
  readonly socket: Socket;
  /** Requests without a complete response. */
  requests: number;
  isOpen: boolean;
}

/** Minimum milliseconds between two reports of one server. */
const reportInterval = 60_000;

/**
 * Limits the connections of clients to HTTP servers of one process. Without it a client uses up all files
 * that the process may open: libuv then closes new connections, or leaves them waiting in a busy loop, and
 * everything else that needs a file fails.
 *
 * A connection over the limit replaces the one that has been without a request for the longest time,
 * handshakes included; it is closed itself if all others are in use.
 */
export class ConnectionLimit {
  readonly max: number;
  #open = 0;
  /** Connections without a request, the longest idle first. */
  readonly #idle = new Set<Connection>();

  constructor(max: number) {
    this.max = max;
  }

  /**
   * Applies to a server before it listens, and after its listener for `upgrade` is there: servers without one
   * do not accept upgrades. `report` is called when the limit is reached, once a minute.
   */
  guard(server: Server, now: () => number, report: () => void): void {
    const bySocket = new WeakMap<object, Connection>();
    // The socket of TLS hides the one below it.
    const handshakes = new Map<string, Connection>();
    let nextReport = Number.NEGATIVE_INFINITY;
    const reached = (): void => {
      if (now() < nextReport) return;
      nextReport = now() + reportInterval;
      report();
    };
    server.on("connection", (socket: Socket) => {
      const connection = this.#accept(socket, reached);
      if (connection === undefined) return;
      const name = nameOf(socket);
      bySocket.set(socket, connection);
      handshakes.set(name, connection);
      socket.once("close", () => {
        this.#closed(connection);
        if (handshakes.get(name) === connection) handshakes.delete(name);
      });
    });
    server.on("secureConnection", (socket: Socket) => {
      const connection = handshakes.get(nameOf(socket));
      if (connection !== undefined) bySocket.set(socket, connection);
    });
    server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      const connection = bySocket.get(socket);
      if (connection !== undefined) this.#use(connection, response);
    });
    if (server.listenerCount("upgrade") > 0)
      server.on("upgrade", ({ socket }: IncomingMessage) => {
        const connection = bySocket.get(socket);
        if (connection !== undefined) this.#use(connection);
      });
    server.on("session", (session: ServerHttp2Session) => {
      const connection = handshakes.get(nameOf(session.socket));
      if (connection === undefined) return;
      session.on("stream", (stream: ServerHttp2Stream) => this.#use(connection, stream));
    });
  }

  #accept(socket: Socket, reached: () => void): Connection | undefined {
    if (this.#open >= this.max) {
      reached();
      const [oldest] = this.#idle;
      if (oldest === undefined) {
        socket.destroy();
        return undefined;
      }
      this.#closed(oldest);
      oldest.socket.destroy();
    }
    const connection = { socket, requests: 0, isOpen: true };
    this.#open++;
    this.#idle.add(connection);
    return connection;
  }

  #closed(connection: Connection): void {
    if (!connection.isOpen) return;
    connection.isOpen = false;
    this.#open--;
    this.#idle.delete(connection);
  }

  /** `request` closes when it is done; without it the connection is in use until it closes. */
  #use(connection: Connection, request?: ServerResponse | ServerHttp2Stream): void {
    connection.requests++;
    this.#idle.delete(connection);
    request?.once("close", () => {
      connection.requests--;
      if (connection.requests === 0 && connection.isOpen) this.#idle.add(connection);
    });
  }
}

function nameOf({ remoteAddress, remotePort }: Pick<Socket, "remoteAddress" | "remotePort">): string {
  return `${remoteAddress} ${remotePort}`;
}
