export { keyOf, refOf } from "./cache.ts";
export * from "./client.ts";
export * from "./clock.ts";
export { type ClientOptions, createClient } from "./create.ts";
export type { CredentialSource, Credentials } from "./credentials.ts";
export {
  createEventRecorder,
  type EventRecorder,
  type EventRecorderOptions,
  type EventSubject,
} from "./events.ts";
export * from "./exchange.ts";
export * from "./informer.ts";
export { ItemBackOff } from "./item-back-off.ts";
export {
  type ConnectionConfig,
  inClusterConfig,
  type KubeconfigOptions,
  kubeconfigEntries,
  loadKubeconfig,
  type NewKubeconfig,
  writeKubeconfig,
} from "./kubeconfig.ts";
export { type LeaderElectionOptions, leadWithLease } from "./leader.ts";
export { listAll } from "./list-all.ts";
export * from "./log.ts";
export { isNamespaceTerminating } from "./namespace.ts";
export { createWorkQueue, type WorkQueue, type WorkQueueOptions } from "./queue.ts";
export * from "./rate-limiter.ts";
export * from "./rest-mapper.ts";
export * from "./time.ts";
export { type ConnectionOptions, httpsTransport } from "./transport.ts";
export { response as wireResponse } from "./wire-answer.ts";
