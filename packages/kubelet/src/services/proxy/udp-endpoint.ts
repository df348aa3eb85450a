import { createSocket, type Socket } from "node:dgram";
import type { RouteEndpoint } from "../routes.ts";
import { portsOf, sourceOf } from "./dial.ts";

/** Maximum number of datagrams that wait for a socket to be ready. */
const maxWaiting = 64;

/** Sends datagrams of one client to an endpoint, and receives its answers. */
export class UdpEndpoint {
  readonly #endpoint: RouteEndpoint;
  readonly #source: string | undefined;
  readonly #answered: (message: Buffer) => void;
  /** Ports that were not tried yet. */
  readonly #ports: number[];
  #socket: Socket | undefined;
  #ready = false;
  #closed = false;
  /** Datagrams to send once the socket is ready; while nothing was answered, also the last one sent. */
  #waiting: Buffer[] = [];
  #hasAnswered = false;

  constructor(
    endpoint: RouteEndpoint,
    client: string,
    unprivilegedPortStart: number,
    answered: (message: Buffer) => void,
  ) {
    this.#endpoint = endpoint;
    this.#source = sourceOf(client, endpoint.address);
    this.#answered = answered;
    this.#ports = [...portsOf(endpoint, unprivilegedPortStart)];
    this.#open();
  }

  send(message: Buffer): void {
    if (this.#ready) this.#socket?.send(message, () => {});
    // The last one is repeated to another port if this one turns out to be closed.
    if (!this.#hasAnswered && this.#ready) this.#waiting = [message];
    else if (!this.#ready && this.#waiting.length < maxWaiting) this.#waiting.push(message);
  }

  close(): void {
    this.#closed = true;
    this.#socket?.close();
    this.#socket = undefined;
  }

  #open(): void {
    const port = this.#ports.shift();
    if (port === undefined || this.#closed) return;
    this.#socket?.close();
    this.#ready = false;
    const socket = createSocket("udp4");
    this.#socket = socket;
    socket.on("message", (message) => {
      this.#hasAnswered = true;
      this.#waiting = [];
      this.#answered(message);
    });
    // Nothing listens there (ICMP), or the system lacks sockets.
    socket.on("error", () => {
      if (socket === this.#socket && !this.#hasAnswered) this.#open();
    });
    const connect = (): void => {
      if (socket !== this.#socket) return;
      socket.connect(port, this.#endpoint.address, () => this.#connected(socket));
    };
    if (this.#source === undefined) connect();
    else socket.bind({ address: this.#source, port: 0, exclusive: true }, connect);
  }

  #connected(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#ready = true;
    for (const message of this.#waiting) socket.send(message, () => {});
    this.#waiting = this.#waiting.slice(-1);
  }
}
