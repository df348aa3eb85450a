import { createSocket, type RemoteInfo } from "node:dgram";
import type { RouteEndpoint } from "../routes.ts";
import { keyOf } from "./balancer.ts";
import type { Backend, ListenerContext, PlaceListener } from "./listener.ts";
import { UdpEndpoint } from "./udp-endpoint.ts";

/** Milliseconds after its last datagram at which a flow ends. Upstream: nf_conntrack_udp_timeout_stream. */
const flowTimeout = 120_000;
/** Interval in milliseconds at which idle flows are looked for. */
const sweepInterval = 10_000;

/** The datagrams of one socket of a client, and of the endpoint that answers it. */
interface Flow {
  readonly endpoint: RouteEndpoint;
  readonly socket: UdpEndpoint;
  usedAt: number;
}

/** Passes datagrams of clients on, each client's to one endpoint, and answers back. */
export class UdpListener implements PlaceListener {
  #backend: Backend;
  readonly #context: ListenerContext;
  readonly #server = createSocket("udp4");
  /** By address and port of the client. */
  readonly #flows = new Map<string, Flow>();
  #cancelSweep: (() => void) | undefined;

  constructor(backend: Backend, context: ListenerContext) {
    this.#backend = backend;
    this.#context = context;
    this.#server.on("message", (message, from) => this.#pass(message, from));
  }

  get backend(): Backend {
    return this.#backend;
  }

  /** Flows to endpoints that are gone end: a client of UDP would not notice. */
  set backend(backend: Backend) {
    this.#backend = backend;
    const { balancer, traffic } = backend;
    const served = new Set(balancer.endpointsFor("", traffic).map(keyOf));
    for (const [key, flow] of this.#flows) if (!served.has(keyOf(flow.endpoint))) this.#end(key, flow);
  }

  listen(address: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.bind({ address, port, exclusive: true }, () => {
        this.#server.off("error", reject);
        this.#server.on("error", () => {});
        resolve(port);
      });
    });
  }

  close(): void {
    this.#cancelSweep?.();
    for (const [key, flow] of this.#flows) this.#end(key, flow);
    this.#server.close();
  }

  #pass(message: Buffer, from: RemoteInfo): void {
    // No program listens on port 0.
    if (from.port === 0) return;
    const flow = this.#flows.get(`${from.address}:${from.port}`) ?? this.#begin(from);
    if (flow === undefined) return;
    flow.usedAt = this.#context.now();
    flow.socket.send(message);
  }

  #begin(client: RemoteInfo): Flow | undefined {
    const { balancer, traffic } = this.#backend;
    const [endpoint] = balancer.endpointsFor(client.address, traffic);
    if (endpoint === undefined) return undefined;
    if (!this.#context.sockets.take()) {
      this.#context.exhausted();
      return undefined;
    }
    balancer.accepted(client.address, endpoint);
    const key = `${client.address}:${client.port}`;
    const answer = (message: Buffer): void => {
      flow.usedAt = this.#context.now();
      this.#server.send(message, client.port, client.address, () => {});
    };
    const flow: Flow = {
      endpoint,
      socket: new UdpEndpoint(endpoint, client.address, this.#context.unprivilegedPortStart, answer),
      usedAt: this.#context.now(),
    };
    this.#flows.set(key, flow);
    this.#cancelSweep ??= this.#context.after(sweepInterval, () => this.#sweep());
    return flow;
  }

  #sweep(): void {
    this.#cancelSweep = undefined;
    const oldest = this.#context.now() - flowTimeout;
    for (const [key, flow] of this.#flows) if (flow.usedAt <= oldest) this.#end(key, flow);
    if (this.#flows.size > 0) this.#cancelSweep = this.#context.after(sweepInterval, () => this.#sweep());
  }

  #end(key: string, flow: Flow): void {
    this.#flows.delete(key);
    this.#context.sockets.free();
    flow.socket.close();
  }
}
