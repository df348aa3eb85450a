import type { Node } from "@dray/api/core/v1";
import type {
  AllocationResult,
  Device,
  DeviceClass,
  DeviceRequestAllocationResult,
  DeviceTaintRule,
  ResourceClaim,
  ResourceSlice,
} from "@dray/api/resource/v1";
import type { DeviceEnvironment } from "@dray/cel";
import type { ExplainOptions, Explanation } from "./explain/explanation.ts";
import type { Features } from "./features/features.ts";
import type { Corrections } from "./features/policies.ts";
import type { Candidates } from "./inventory/candidate-nodes.ts";
import type { Overdrawn, Reservation } from "./inventory/reservation.ts";

export interface AllocatorOptions {
  readonly features: Features;
  /** Corrections to enable. */
  readonly corrections?: Partial<Corrections>;
  /** Returns a new lowercase UUID, for a share of a device. */
  newId(): string;
  /**
   * Compiles selectors, and caches them. Allocators with the same selectors can share one; a new one if
   * absent. Made with `deviceEnvironment({ stored: true })`.
   */
  readonly environment?: DeviceEnvironment;
  /**
   * Called after each evaluation of a selector on a shape of device, with its cost in CEL units (at most
   * 1,000,000). An error that it throws ends the running call of the allocator. The results of evaluations
   * are kept, so that the next call gets further. Without it, a call may take any time.
   */
  evaluated?(cost: number): void;
}

/** A change of the cluster. Claims count as soon as they have an allocation. */
export type AllocatorEvent =
  | { readonly kind: "slice"; readonly object: ResourceSlice; readonly deleted: boolean }
  | { readonly kind: "class"; readonly object: DeviceClass; readonly deleted: boolean }
  | { readonly kind: "rule"; readonly object: DeviceTaintRule; readonly deleted: boolean }
  | { readonly kind: "claim"; readonly object: ResourceClaim; readonly deleted: boolean };

export type AllocateResult =
  /** One allocation per claim, in the same order: the first solution in upstream's order. */
  | { readonly type: "allocated"; readonly allocations: readonly AllocationResult[] }
  /** This node cannot serve the claims. */
  | { readonly type: "refused"; readonly message: string }
  /** The whole attempt fails, whichever other nodes there are. */
  | { readonly type: "error"; readonly message: string }
  /**
   * Stopped by `shouldStop`. `resume` continues the search, with the state of the cluster at its beginning. A
   * solution that later changes have made invalid is discarded, and the search starts again.
   */
  | { readonly type: "stopped"; resume(): AllocateResult };

/**
 * Allocation with structured parameters (KEP-4381). Pure: no I/O, no clock, no randomness. Keeps references
 * to the objects that it is given, which must not change.
 */
export interface Allocator {
  /**
   * Applies a change. A claim with a smaller `resourceVersion` (compared as a number, KEP-5504) than before
   * is ignored. A deletion is final, whatever its version: uids are not reused.
   */
  update(event: AllocatorEvent): void;
  /** Allocates all claims or none, and changes nothing. The claims must not have an allocation yet. */
  allocate(
    node: Node,
    claims: readonly ResourceClaim[],
    options?: { shouldStop?: () => boolean },
  ): AllocateResult;
  /**
   * Returns the nodes that an index does not rule out; undefined if it cannot rule out any. A node that is
   * left out would be refused with `cannot allocate all claims`. Valid until the next change.
   */
  candidates(claims: readonly ResourceClaim[]): Candidates | undefined;
  /**
   * Reserves the devices of `allocations`, so that later calls do not allocate them. Throws DeviceInUseError,
   * and then reserves nothing, if another claim has been allocated one since. Admin access reserves nothing.
   */
  reserve(claims: readonly ResourceClaim[], allocations: readonly AllocationResult[]): Reservation;
  /**
   * Returns the first device of the claim's last state that is overdrawn: all claims and reservations exceed
   * one of its counters or capacities. Returns undefined if no device is overdrawn, or if it is not
   * published.
   */
  overdrawn(claim: ResourceClaim): Overdrawn | undefined;
  /** Returns a published device for the node. */
  device(
    node: Node,
    id: Pick<DeviceRequestAllocationResult, "driver" | "pool" | "device">,
  ): Device | undefined;
  /**
   * Counts the devices of the class in complete pools for the node, and those of them that claims have, at
   * least in part; for scores. A device on which a selector of the class fails is not of the class.
   */
  totals(node: Node, className: string): { readonly devices: number; readonly allocated: number };
  /** `evaluations`: number of evaluations of a selector on a shape of device. */
  statistics(): { readonly evaluations: number };
  /** Explains the result of `allocate` in a second pass, whose cost `allocate` does not pay. */
  explain(node: Node, claims: readonly ResourceClaim[], options?: ExplainOptions): Explanation;
}
