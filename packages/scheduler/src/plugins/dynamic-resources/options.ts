import type { Allocator } from "@dray/allocator";
import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { DeviceClass } from "@dray/api/resource/v1";
import type { PodGroups } from "../../podgroup/pod-groups.ts";
import type { ClaimMetrics } from "./claim-binding.ts";
import type { ClaimStore } from "./claim-store.ts";
import type { ExtendedClass } from "./extended-resources.ts";
import type { PendingAllocations } from "./pending-allocations.ts";

export interface DynamicResourcesOptions {
  readonly features: Features;
  readonly allocator: Allocator;
  /** Allocations in the making, where several profiles share them. */
  readonly pending?: PendingAllocations;
  /** Absent where pods are not scheduled in groups. */
  readonly groups?: PodGroups;
  readonly claims: ClaimStore;
  readonly deviceClass: (name: string) => DeviceClass | undefined;
  /** Undefined: extended resources are not served by devices (gate DRAExtendedResource). */
  readonly extendedClass?: ExtendedClass;
  /** Milliseconds; 0: no limit. */
  readonly filterTimeout?: number;
  /** Milliseconds. */
  readonly bindingTimeout?: number;
  /** Records an event of the pod. */
  readonly event?: (pod: Pod, reason: string, message: string) => void;
  readonly metrics?: ClaimMetrics;
  /** Fresh lowercase UUIDs. */
  readonly newId: () => string;
  readonly now: () => number;
  readonly random: () => number;
}
