import type { Budget } from "@dray/streams";
import type { Balancer, Traffic } from "./balancer.ts";

/** An address and port at which a port of a Service is served. */
export interface Place {
  readonly protocol: "tcp" | "udp" | "sctp";
  readonly address: string;
  readonly port: number;
}

/** Clients of a place and their endpoints. */
export interface Backend {
  readonly balancer: Balancer;
  readonly traffic: Traffic;
}

/** Dependencies of all listeners. */
export interface ListenerContext {
  readonly sockets: Budget;
  /** First port that every process may listen on. */
  readonly unprivilegedPortStart: number;
  /** Calls back after this time; returns a function that cancels it. */
  after(milliseconds: number, run: () => void): () => void;
  now(): number;
  /** Called when a client is turned away because too many sockets are in use. */
  exhausted(): void;
}

/** Serves the clients of a place. Its backend may change at any time: clients keep the endpoint they have. */
export interface PlaceListener {
  backend: Backend;
  /** Port that is listened on. Rejects with the system's error. */
  listen(address: string, port: number): Promise<number>;
  /** Accepts no more clients. Connections go on. */
  close(): void;
}
