import type { Quantity } from "@dray/api";

/** Signal of a threshold, as in `--eviction-hard`. */
export type EvictionSignal =
  | "memory.available"
  | "nodefs.available"
  | "nodefs.inodesFree"
  | "imagefs.available"
  | "imagefs.inodesFree"
  | "pid.available";

/** A condition of the Node for a resource that runs short. */
export type PressureCondition = "MemoryPressure" | "DiskPressure" | "PIDPressure";

/** A resource that runs short, as in events and messages. */
export type StarvedResource = "memory" | "ephemeral-storage" | "inodes" | "pids";

/**
 * Condition and resource of each signal.
 * Upstream: pkg/kubelet/eviction/helpers.go, signalToNodeCondition, signalToResource.
 */
export const evictionSignals: Readonly<
  Record<EvictionSignal, { readonly condition: PressureCondition; readonly resource: StarvedResource }>
> = {
  "memory.available": { condition: "MemoryPressure", resource: "memory" },
  "nodefs.available": { condition: "DiskPressure", resource: "ephemeral-storage" },
  "nodefs.inodesFree": { condition: "DiskPressure", resource: "inodes" },
  "imagefs.available": { condition: "DiskPressure", resource: "ephemeral-storage" },
  "imagefs.inodesFree": { condition: "DiskPressure", resource: "inodes" },
  "pid.available": { condition: "PIDPressure", resource: "pids" },
};

/** Available amount and capacity of a signal. */
export interface Observation {
  readonly available: Quantity;
  readonly capacity: Quantity;
}

/** Signals that cannot be observed on this machine are missing. */
export type Observations = ReadonlyMap<EvictionSignal, Observation>;

/** Source of observations. */
export interface SignalSource {
  observe(): Promise<Observations>;
  /** Images have a file system of their own, apart from logs and volumes. */
  hasDedicatedImageFs(): Promise<boolean>;
}
