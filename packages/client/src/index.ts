export { microTimeText, timeText } from "@dray/api";
export * from "./client/client.ts";
export { type ClientOptions, createClient } from "./client/create-client.ts";
export { listAll } from "./client/list-all.ts";
export { isNamespaceTerminating } from "./client/namespace-terminating.ts";
export * from "./client/object-ref.ts";
export * from "./client/resource-client.ts";
export * from "./client/rest-mapper.ts";
export * from "./clock.ts";
export * from "./informer/informer.ts";
export {
  type ConnectionConfig,
  inClusterConfig,
  type KubeconfigOptions,
  kubeconfigEntries,
  loadKubeconfig,
  type NewKubeconfig,
  writeKubeconfig,
} from "./kubeconfig/kubeconfig.ts";
export * from "./log.ts";
export {
  createEventRecorder,
  type EventRecorder,
  type EventRecorderOptions,
  type EventSubject,
} from "./tools/event-recorder.ts";
export { ItemBackOff } from "./tools/item-back-off.ts";
export { type LeaderElectionOptions, leadWithLease } from "./tools/leader-election.ts";
export { type Counter, exponentialBuckets, type Histogram, MetricsRegistry } from "./tools/metrics.ts";
export * from "./tools/rate-limiter.ts";
export { createWorkQueue, type WorkQueue, type WorkQueueOptions } from "./tools/work-queue.ts";
export { WorkQueueMetrics } from "./tools/work-queue-metrics.ts";
export type { ConnectionOptions } from "./transport/connection-options.ts";
export type { CredentialSource, Credentials } from "./transport/credentials.ts";
export * from "./transport/exchange.ts";
export { httpsTransport } from "./transport/https-transport.ts";
export { wireResponse } from "./transport/wire-response.ts";
