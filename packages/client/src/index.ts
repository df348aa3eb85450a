export { microTimeText, timeText } from "@dray/api";
export * from "./base/clock.ts";
export * from "./base/log.ts";
export * from "./client/client.ts";
export { type ClientOptions, createClient } from "./client/create-client.ts";
export * from "./client/rest-mapper.ts";
export { ItemBackOff } from "./flowcontrol/item-back-off.ts";
export * from "./flowcontrol/rate-limiter.ts";
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
export { ClientMetrics } from "./metrics/client-metrics.ts";
export { HealthMetrics, type HealthType } from "./metrics/health-metrics.ts";
export { publicHostName } from "./metrics/host-name.ts";
export { ProcessMetrics } from "./metrics/process-metrics.ts";
export { type Counter, exponentialBuckets, type Histogram, MetricsRegistry } from "./metrics/registry.ts";
export { WorkQueueMetrics } from "./metrics/work-queue-metrics.ts";
export { listAll } from "./rest/list-all.ts";
export { isNamespaceTerminating } from "./rest/namespace-terminating.ts";
export * from "./rest/object-ref.ts";
export type { RequestObserver } from "./rest/observe.ts";
export * from "./rest/resource-client.ts";
export {
  type AccessAttributes,
  authenticate,
  isAllowed,
  type RequestUser,
} from "./tools/delegated-access.ts";
export {
  createEventRecorder,
  type EventRecorder,
  type EventRecorderOptions,
  type EventSubject,
} from "./tools/event-recorder.ts";
export { type LeaderElectionOptions, leadWithLease } from "./tools/leader-election.ts";
export { createWorkQueue, type WorkQueue, type WorkQueueOptions } from "./tools/work-queue.ts";
export type { ConnectionOptions } from "./transport/connection-options.ts";
export type { CredentialSource, Credentials } from "./transport/credentials.ts";
export * from "./transport/exchange.ts";
export { httpsTransport } from "./transport/https-transport.ts";
export { wireResponse } from "./transport/wire-response.ts";
