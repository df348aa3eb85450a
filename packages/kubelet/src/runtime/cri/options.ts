import type { Clock, Log } from "@dray/client";

export interface CriRuntimeOptions {
  /** The runtime's socket: `/run/containerd/containerd.sock`, with or without `unix://`. */
  readonly endpoint: string;
  /** The node's name: several agents may share one runtime, each sees its own sandboxes only. */
  readonly node: string;
  readonly log: Log;
  readonly clock?: Clock;
  /** The cgroup that those of pods lie below, as `/kubepods`; "" for the runtime's own choice. */
  readonly cgroupRoot?: string;
  /** Where seccomp profiles with a relative path lie; the kubelet's own folder if it is not given. */
  readonly seccompRoot?: string;
  /** How long the runtime may take to accept a connection, in milliseconds: 10 s if it is not given. */
  readonly connectTimeout?: number;
}
