import type { CdiRegistry } from "@dray/cdi";
import type { Clock, Log } from "@dray/client";
import type { CgroupTree } from "./cgroups.ts";
import type { OciImages } from "./images/service.ts";
import type { PodNetwork } from "./network/network.ts";
import type { OciSandboxes } from "./sandboxes.ts";
import type { MachineFacts } from "./spec.ts";

export interface OciRuntimeOptions {
  /** Where the runtime of this node keeps its records. */
  readonly directory: string;
  /** What all nodes of the cluster on this machine share for their network. */
  readonly networkDirectory: string;
  readonly nodeName: string;
  /** Of pods with the machine's network. */
  readonly nodeAddress: string;
  /** Opened and closed by the caller; nodes may share them. */
  readonly images: OciImages;
  readonly cdi: CdiRegistry;
  /** The place on this machine of a path that the node's drivers name. */
  hostPath(path: string): string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Started {
  readonly version: string;
  readonly recursiveReadOnly: boolean;
  readonly cgroup: string;
  readonly cgroups: CgroupTree;
  readonly network: PodNetwork;
  readonly sandboxes: OciSandboxes;
  readonly machine: MachineFacts;
}
