import type { Features, Wire } from "@dray/api";
import type { Client, Clock, Log } from "@dray/client";
import type { Serving } from "../server/server.ts";
import { SimulatedEndpoint } from "./endpoint.ts";
import { LeaseWheel } from "./leases.ts";
import type { SimulatedNode } from "./node-object.ts";
import { SimulatedNodeObjects } from "./nodes.ts";
import { SimulatedPods } from "./pods.ts";

export interface SimulatedNodesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly features: Features;
  readonly nodes: readonly SimulatedNode[];
  /** Address of all nodes. */
  readonly address: string;
  /**
   * Certificates with which `address` serves HTTPS and responds that no container runs; without it nothing
   * listens.
   */
  readonly serving?: Pick<Serving, "cert" | "key" | "clientCA">;
  /** Ends the simulation; pods and Nodes stay. */
  readonly signal: AbortSignal;
  /** Called once all nodes are registered. */
  registered?(): void;
}

/**
 * Simulates the kubelets of many nodes in the API, without running a container, until the signal aborts.
 * Rejects if the API server refuses what it needs.
 */
export async function runSimulatedNodes(options: SimulatedNodesOptions): Promise<void> {
  const { client, clock, log, features, address, serving, signal } = options;
  const { gitVersion } = JSON.parse(await client.text("GET", "/version")) as Wire<{ gitVersion: string }>;
  const version = gitVersion ?? "";
  const leases = new LeaseWheel({ client, clock, log });
  const nodes = new SimulatedNodeObjects({
    ...{ client, clock, log, nodes: options.nodes, leases },
    appeared: (name) => pods.nodeAppeared(name),
    registered: () => options.registered?.(),
  });
  const pods = new SimulatedPods({
    ...options,
    nodeAddress: address,
    isOurs: (name) => nodes.has(name),
    node: (name) => nodes.get(name),
  });
  const endpoint = serving === undefined ? undefined : new SimulatedEndpoint(serving, clock);
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  try {
    await nodes.read(either);
    const port = await endpoint?.listen(address, nodes.formerPort);
    if (!either.aborted) {
      nodes.start({ version, features, address, port });
      leases.start();
      await pods.start(either);
    }
    if (!signal.aborted)
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  } finally {
    ended.abort();
    await Promise.all([leases.stop(), nodes.stop(), pods.stop(), endpoint?.close()]);
  }
}
