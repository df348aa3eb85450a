import type { CdiRegistry } from "@dray/cdi";
import type { Clock, Log } from "@dray/client";
import type { CgroupTree } from "./cgroups.ts";
import type { OciImages } from "./images/service.ts";
import type { PodNetwork } from "./network/network.ts";
import type { NodeSpace } from "./node-space.ts";
import type { OciSandboxes } from "./sandboxes.ts";
import type { MachineFacts } from "./spec.ts";

export interface OciRuntimeOptions {
  /** Folder of the records of this node's runtime. */
  readonly directory: string;
  /** Folder of the network, shared by all nodes of the cluster on this machine. */
  readonly networkDirectory: string;
  readonly nodeName: string;
  /** Address of pods with the machine's network. */
  readonly nodeAddress: string;
  /**
   * The network of pods with `hostNetwork`: one of the node's own, where the machine has what that needs, or
   * the machine's.
   */
  readonly hostNetwork: "node" | "machine";
  /** Folder of the network name spaces of pods; `/var/run/netns` of the node. */
  readonly networkNamespaces: string;
  /** Maps a path of this machine to the node's. */
  nodePath(path: string): string;
  /** Opened and closed by the caller; nodes may share them. */
  readonly images: OciImages;
  readonly cdi: CdiRegistry;
  /** Maps a path that the node's drivers name to one of this machine. */
  hostPath(path: string): string;
  readonly clock: Clock;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly log: Log;
}

export interface Started {
  readonly version: string;
  readonly recursiveReadOnly: boolean;
  readonly cgroup: string;
  readonly cgroups: CgroupTree;
  readonly network: PodNetwork;
  readonly node: NodeSpace;
  readonly sandboxes: OciSandboxes;
  readonly machine: MachineFacts;
}
