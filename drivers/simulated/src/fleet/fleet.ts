import type { Draft } from "@dray/api";
import type { NodeSelector } from "@dray/api/core/v1";
import type { CounterSet, Device, DeviceClass, DeviceTaint } from "@dray/api/resource/v1";
import type { ContainerEdits } from "@dray/cdi";
import type { MetadataVersion } from "@dray/driver";
import type { ProfileChoice } from "./profile-choice.ts";

/** Hardware as files describe it: nodes with their devices, devices on the network, and classes of them. */
export interface Fleet {
  /** The nodes that the files name, in their order, with what patterns add to them. */
  readonly nodes: readonly FleetNode[];
  /** Drivers whose pools belong to no node. */
  readonly network: readonly FleetDriver[];
  readonly deviceClasses: readonly Draft<DeviceClass>[];
  /** Parts of the files that were ignored, in words. */
  readonly notes: readonly string[];
  /** The node with this name: named, or matched by a pattern; undefined if the files do not have it. */
  node(name: string): FleetNode | undefined;
}

export interface FleetNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Replaces the machine's own capacity, by resource. */
  readonly capacity: Readonly<Record<string, string>>;
  /** Nothing runs on it: its pods only say that they run. */
  readonly simulated: boolean;
  /** All that serve on it, those of the network too. */
  readonly drivers: readonly FleetDriver[];
}

export interface FleetDriver {
  /** Driver name of its ResourceSlices. */
  readonly name: string;
  readonly profile: ProfileChoice;
  /** Versions of the device metadata files for containers (KEP-5304); no files if absent. */
  readonly metadata?: readonly MetadataVersion[];
  readonly pools: readonly FleetPool[];
}

export interface FleetPool {
  readonly name: string;
  readonly devices: readonly FleetDevice[];
  readonly sharedCounters: readonly CounterSet[];
  /** As ResourceSlice.spec has them. */
  readonly partitionTypeAttribute?: string;
  readonly skipNodeOperations?: readonly string[];
  /** Which nodes reach the pool; absent: the node of the driver. */
  readonly reach?: PoolReach;
}

/** As in ResourceSlice.spec: exactly one of the three. */
export type PoolReach =
  | { readonly allNodes: true }
  | { readonly nodeSelector: NodeSelector }
  | { readonly perDeviceNodeSelection: true };

export interface FleetDevice {
  /** As its slice has it, while it is healthy. */
  readonly device: Device;
  readonly behaviour: Behaviour;
  /** The name of the device that this is a partition of. */
  readonly partitionOf?: string;
}

/** Simulated behaviour of a device. */
export interface Behaviour {
  /** Milliseconds that its prepare takes. */
  readonly prepareDelay: number;
  readonly prepareFails?: {
    /** So often since the driver's start, then it succeeds; absent: always. */
    readonly times?: number;
    readonly message: string;
  };
  /** How its binding conditions (KEP-5007) are set, if it has any. */
  readonly binds: {
    /** Milliseconds since the allocation. */
    readonly after: number;
    /** It fails then, with this message. */
    readonly fails?: string;
  };
  /**
   * Milliseconds that the driver cleans up after a claim, which stays so long; absent: nothing is to be
   * cleaned up.
   */
  readonly cleanUp?: number;
  /** In the order of time. */
  readonly health: readonly HealthChange[];
  /** The taint in its slice while it is unhealthy (KEP-5055). */
  readonly unhealthyTaint: Pick<DeviceTaint, "key" | "value" | "effect">;
  /** CDI edits of its containers, beside the variables that name it. */
  readonly edits: ContainerEdits;
}

export interface HealthChange {
  /** Milliseconds since the driver's start. */
  readonly after: number;
  readonly health: Health;
  readonly message?: string;
}

export const healths = ["Healthy", "Unhealthy", "Unknown"] as const;
export type Health = (typeof healths)[number];
