import { randomUUID } from "node:crypto";
import { type Features, featuresOf } from "@dray/api";
import {
  type Client,
  type Clock,
  createEventRecorder,
  type EventRecorder,
  type Log,
  systemClock,
  withFields,
} from "@dray/client";
import { NodePaths } from "../base/paths.ts";
import { AgentMetrics } from "../metrics/agent-metrics.ts";
import { OwnNode } from "../node/own-node.ts";
import type { ImageService } from "../runtime/images.ts";
import { measuredRuntime } from "../runtime/measured.ts";
import type { RuntimeService } from "../runtime/service.ts";
import type { KubeletOptions } from "./options.ts";

/** Options with their defaults, and the seams to the outside, which all parts of an agent share. */
export interface AgentContext {
  readonly options: KubeletOptions;
  readonly client: Client;
  readonly nodeName: string;
  readonly nodeAddress: string;
  readonly features: Features;
  readonly clock: Clock;
  readonly random: () => number;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly log: Log;
  readonly paths: NodePaths;
  readonly events: EventRecorder;
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  readonly metrics: AgentMetrics;
  readonly node: OwnNode;
  /** Aborts when the agent stops. */
  readonly signal: AbortSignal;
  readonly at: (step: string) => void;
}

/**
 * Creates the folders of the node, and its runtime, which is not started yet. Throws if the root cannot be
 * used.
 */
export function createContext(options: KubeletOptions, signal: AbortSignal): AgentContext {
  const { client, nodeName, nodeAddress = "127.0.0.1", features = featuresOf() } = options;
  const { clock = systemClock, random = Math.random, newId = randomUUID, at = () => {} } = options;
  const log = withFields(options.log, { node: nodeName });
  const paths = new NodePaths(options.rootDir);
  paths.create();
  options.signal?.throwIfAborted();
  const events = createEventRecorder({ client, clock, log, random, component: "kubelet", host: nodeName });
  const metrics = new AgentMetrics({
    ...{ clock, nodeName, release: features.version },
    servingCertificate: options.serving.cert,
    clientCertificate: options.clientCertificate,
  });
  const { service, images } = options.runtime({ nodeName, paths, nodeAddress, clock, newId, log });
  const runtime = measuredRuntime(service, clock, (...ended) => metrics.runtimeOperated(...ended));
  const node = new OwnNode(client, nodeName);
  return {
    options,
    client,
    nodeName,
    nodeAddress,
    features,
    clock,
    random,
    newId,
    log,
    paths,
    events,
    runtime,
    images,
    metrics,
    node,
    signal,
    at,
  };
}
