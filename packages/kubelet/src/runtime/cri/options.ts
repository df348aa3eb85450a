import type { Clock, Log } from "@dray/client";

export interface CriRuntimeOptions {
  /** Socket of the runtime: `/run/containerd/containerd.sock`, with or without `unix://`. */
  readonly endpoint: string;
  /** Name of the node: several agents may share one runtime, and each lists its own sandboxes only. */
  readonly node: string;
  readonly log: Log;
  readonly clock: Clock;
  /** Parent of the cgroups of pods, such as `/kubepods`; "" for the runtime's default. */
  readonly cgroupRoot?: string;
  /** Folder of seccomp profiles with a relative path; upstream's by default. */
  readonly seccompRoot?: string;
  /** Timeout of the connection in milliseconds; 10 s by default. */
  readonly connectTimeout?: number;
}
