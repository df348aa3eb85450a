import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Clock } from "@dray/client";
import { RuntimeError } from "../error.ts";
import { tool } from "./tools.ts";

/** Milliseconds for which the process in a pod's network waits for another connection to make. */
const idleTimeout = 10_000;

/** Runs in the pod's network: makes connections and passes them on without reading from them. */
const script = `
const { connect } = require("node:net");
process.on("message", ({ id, port }) => {
  const socket = connect({ host: "localhost", port, allowHalfOpen: true, noDelay: true });
  socket.pause();
  const failed = (error) => process.send({ id, error: error.code || error.message });
  socket.once("error", failed);
  socket.once("connect", () => {
    socket.off("error", failed);
    process.send({ id }, socket, { keepOpen: false });
  });
});
process.on("disconnect", () => process.exit(0));
`;

interface Answer {
  readonly id: number;
  readonly error?: string;
}

interface Waiting {
  resolve(socket: Socket): void;
  reject(error: Error): void;
}

/**
 * Connects streams with ports of pods in their network name space. Node cannot join one: a process in each
 * makes the connections and hands them over, so that a hundred of them cost no more than one.
 */
export class PodConnections {
  readonly #clock: Clock;
  readonly #dialers = new Map<string, Dialer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Forwards bytes until both directions have ended; `namespace` is the path of the pod's network name space.
   */
  async forward(namespace: string, port: number, stream: Duplex): Promise<void> {
    const dialer = this.#dialers.get(namespace) ?? this.#start(namespace);
    let socket: Socket;
    try {
      socket = await dialer.dial(port);
    } catch (error) {
      const { message } = error as Error;
      const reason = message === "ECONNREFUSED" ? "connection refused" : message;
      throw new RuntimeError(
        "PortForwardError",
        `failed to connect to localhost:${port} inside the pod: dial tcp4 127.0.0.1:${port}: connect: ${reason}`,
      );
    }
    // A failed connection closes the stream, and vice versa.
    await Promise.all([pipeline(stream, socket), pipeline(socket, stream)]).catch(() => {});
    socket.destroy();
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

/** A process in a network name space that makes connections, and ends when it is idle. */
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
    this.#child.on("message", (answer: Answer, handle) => this.#hear(answer, handle as Socket | undefined));
    this.#child.once("error", (error) => this.#fail(error));
    this.#child.once("exit", () => this.#fail(new Error("the pod's network is gone")));
  }

  dial(port: number): Promise<Socket> {
    this.#cancelIdle?.();
    const id = this.#made++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, port }, (error) => {
        if (error !== null) this.#fail(error);
      });
    });
  }

  close(): void {
    this.#cancelIdle?.();
    this.#ended();
    if (this.#child.connected) this.#child.disconnect();
  }

  #hear({ id, error }: Answer, socket: Socket | undefined): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (socket !== undefined) socket.allowHalfOpen = true;
    if (error !== undefined) waiting?.reject(new Error(error));
    // Its other end went while it was handed over.
    else if (socket === undefined) waiting?.reject(new Error("connection reset by peer"));
    else if (waiting === undefined) socket.destroy();
    else waiting.resolve(socket);
    if (this.#waiting.size === 0) this.#cancelIdle = this.#clock.after(idleTimeout, () => this.close());
  }

  #fail(error: Error): void {
    this.close();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
