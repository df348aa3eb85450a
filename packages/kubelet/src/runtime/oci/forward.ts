import { type ChildProcess, spawn } from "node:child_process";
import { Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Clock } from "@dray/client";
import { RuntimeError } from "../error.ts";
import { tool } from "./tools.ts";

/** Milliseconds for which the process in a pod's network waits for another connection to make. */
const idleTimeout = 10_000;

/** Runs in a network: makes connections and servers, and passes them on without reading from them. */
const script = `
const { connect, createServer } = require("node:net");
process.on("message", ({ id, host, port, listens }) => {
  const failed = (error) => process.send({ id, error: error.code || error.message });
  if (listens) {
    const server = createServer();
    server.once("error", failed);
    server.listen({ host, port }, () => process.send({ id }, server, () => server.close()));
    return;
  }
  const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
  socket.pause();
  socket.once("error", failed);
  socket.once("connect", () => {
    socket.off("error", failed);
    process.send({ id }, socket, { keepOpen: false });
  });
});
process.on("disconnect", () => process.exit(0));
`;

/** A TCP port at an address. */
interface Endpoint {
  readonly host: string;
  readonly port: number;
}

interface Answer {
  readonly id: number;
  readonly error?: string;
}

interface Waiting {
  resolve(handle: Socket | Server): void;
  reject(error: Error): void;
}

/**
 * Connects with ports in network name spaces of pods and of the node, and listens there. Node cannot join
 * one: a process in each makes the connections and hands them over, so that a hundred of them cost no more
 * than one.
 */
export class NamespaceConnections {
  readonly #clock: Clock;
  readonly #dialers = new Map<string, Dialer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Forwards bytes until both directions have ended; `namespace` is the path of the pod's network name space.
   */
  async forward(namespace: string, port: number, stream: Duplex): Promise<void> {
    let socket: Socket;
    try {
      socket = await this.connect(namespace, { host: "localhost", port });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const reason = code === "ECONNREFUSED" ? "connection refused" : message;
      throw new RuntimeError(
        "PortForwardError",
        `failed to connect to localhost:${port} inside the pod: dial tcp4 127.0.0.1:${port}: connect: ${reason}`,
      );
    }
    // A failed connection closes the stream, and vice versa.
    await Promise.all([pipeline(stream, socket), pipeline(socket, stream)]).catch(() => {});
    socket.destroy();
  }

  /** Rejects with the system's code. The socket is paused, and half open when the other end closes. */
  async connect(namespace: string, endpoint: Endpoint): Promise<Socket> {
    const handle = await this.#dialer(namespace).ask({ ...endpoint, listens: false });
    if (handle instanceof Socket) return handle;
    throw new Error("connection reset by peer");
  }

  /** The server listens already; another one may take it over. */
  async listen(namespace: string, endpoint: Endpoint): Promise<Server> {
    const handle = await this.#dialer(namespace).ask({ ...endpoint, listens: true });
    if (handle instanceof Server) return handle;
    throw new Error(`no server for ${endpoint.host}:${endpoint.port}`);
  }

  #dialer(namespace: string): Dialer {
    return this.#dialers.get(namespace) ?? this.#start(namespace);
  }

  #start(namespace: string): Dialer {
    const dialer = new Dialer(namespace, this.#clock, () => {
      if (this.#dialers.get(namespace) === dialer) this.#dialers.delete(namespace);
    });
    this.#dialers.set(namespace, dialer);
    return dialer;
  }

  /** Ends the processes; existing connections go on. */
  close(): void {
    for (const dialer of this.#dialers.values()) dialer.close();
  }
}

/** A process in a network name space that makes connections and servers, and ends when it is idle. */
class Dialer {
  readonly #clock: Clock;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: () => void;
  #made = 0;
  #cancelIdle: (() => void) | undefined;

  constructor(namespace: string, clock: Clock, ended: () => void) {
    this.#clock = clock;
    this.#ended = ended;
    this.#child = spawn(
      tool("nsenter"),
      [`--net=${namespace}`, "--", process.execPath, "--input-type=commonjs", "-e", script],
      { cwd: "/", env: {}, stdio: ["ignore", "ignore", "ignore", "ipc"] },
    );
    this.#child.on("message", (answer: Answer, handle) =>
      this.#hear(answer, handle as Socket | Server | undefined),
    );
    this.#child.once("error", (error) => this.#fail(error));
    this.#child.once("exit", () => this.#fail(new Error("the pod's network is gone")));
  }

  ask(wanted: Endpoint & { readonly listens: boolean }): Promise<Socket | Server> {
    this.#cancelIdle?.();
    const id = this.#made++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, ...wanted }, (error) => {
        if (error !== null) this.#fail(error);
      });
    });
  }

  close(): void {
    this.#cancelIdle?.();
    this.#ended();
    if (this.#child.connected) this.#child.disconnect();
  }

  #hear({ id, error }: Answer, handle: Socket | Server | undefined): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (handle instanceof Socket) handle.allowHalfOpen = true;
    if (error !== undefined)
      waiting?.reject(Object.assign(new Error(error), { code: error, syscall: "connect" }));
    // Its other end went while it was handed over.
    else if (handle === undefined) waiting?.reject(new Error("connection reset by peer"));
    else if (waiting !== undefined) waiting.resolve(handle);
    else if (handle instanceof Socket) handle.destroy();
    else handle.close();
    if (this.#waiting.size === 0) this.#cancelIdle = this.#clock.after(idleTimeout, () => this.close());
  }

  #fail(error: Error): void {
    this.close();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
