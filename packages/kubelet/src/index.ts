export { cleanUpNode } from "./agent/clean-up.ts";
export { startKubelet } from "./agent/kubelet.ts";
export type { Kubelet, KubeletOptions } from "./agent/options.ts";
export {
  failNodeOf,
  type NodeState,
  type SupervisedNode,
  type SupervisorOptions,
  superviseNode,
} from "./agent/supervisor.ts";
export { SysctlAllowlist, SysctlPatternError } from "./containers/sysctls.ts";
export type { EvictionSettings } from "./eviction/manager.ts";
export type { EvictionSignal, Observation, Observations, SignalSource } from "./eviction/signals.ts";
export {
  defaultHardThresholds,
  parseThresholds,
  type Threshold,
  ThresholdError,
  type ThresholdTexts,
  type ThresholdValue,
} from "./eviction/thresholds.ts";
export { defaultImageGCPolicy, type ImageGCPolicy } from "./images/policy.ts";
export type { ShutdownGracePeriods } from "./node/shutdown.ts";
export { nriRuntime } from "./nri/create.ts";
export { type CriRuntimeSettings, criRuntime } from "./runtime/cri/create.ts";
export type { RuntimeFactory, RuntimeSurroundings } from "./runtime/factory.ts";
export { type HostRuntimeSettings, hostRuntime } from "./runtime/host/create.ts";
export { anyRegistry, type ImageMapping, imagePattern } from "./runtime/host/images.ts";
export {
  type OciRuntimeSettings,
  ociRuntime,
  releaseNodeAddresses,
  reserveNodeAddresses,
} from "./runtime/oci/create.ts";
export type { ImportedImage, ImportOptions } from "./runtime/oci/images/import.ts";
export { type ImageStoreOptions, OciImages } from "./runtime/oci/images/service.ts";
export { type ClientLimits, clientLimits } from "./server/client-limits.ts";
export type { Serving } from "./server/server.ts";
