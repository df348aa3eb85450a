import type { Quantity } from "@dray/api";

/** What a threshold is about, in the words of `--eviction-hard`. */
export type EvictionSignal =
  | "memory.available"
  | "nodefs.available"
  | "nodefs.inodesFree"
  | "imagefs.available"
  | "imagefs.inodesFree"
  | "pid.available";

/** A condition of the Node that says that it is short of something. */
export type PressureCondition = "MemoryPressure" | "DiskPressure" | "PIDPressure";

/** What runs short, as events and messages name it. */
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

/** How much there is of what a signal is about. */
export interface Observation {
  readonly available: Quantity;
  readonly capacity: Quantity;
}

/** Missing signals cannot be observed on this machine. */
export type Observations = ReadonlyMap<EvictionSignal, Observation>;

/** Where observations come from. */
export interface SignalSource {
  observe(): Promise<Observations>;
  /** Images lie on another file system than logs and volumes. */
  hasDedicatedImageFs(): Promise<boolean>;
}
