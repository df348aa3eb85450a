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
import type { ExplainOptions, Explanation } from "./explain/explanation.ts";
import type { Features } from "./features/features.ts";
import type { Corrections } from "./features/policies.ts";
import type { Candidates } from "./inventory/candidate-nodes.ts";
import type { Overdrawn, Reservation } from "./inventory/reservation.ts";

export interface AllocatorOptions {
  readonly features: Features;
  /** Corrections to switch on. */
  readonly corrections?: Partial<Corrections>;
  /** A fresh lowercase UUID for shares of devices. */
  newId(): string;
  /**
   * Called after each evaluation of a selector on a shape of device, with its cost in units of CEL (at most 1,000,000).
   * If it throws, the running call of the allocator ends with that error. The results of selectors up to then are kept,
   * so that the same call gets further next time. Without it, a call evaluates all that it needs, however long it takes.
   */
  evaluated?(cost: number): void;
}

/** A change of what there is to allocate. Claims count as soon as they have an allocation. */
export type AllocatorEvent =
  | { readonly kind: "slice"; readonly object: ResourceSlice; readonly deleted: boolean }
  | { readonly kind: "class"; readonly object: DeviceClass; readonly deleted: boolean }
  | { readonly kind: "rule"; readonly object: DeviceTaintRule; readonly deleted: boolean }
  | { readonly kind: "claim"; readonly object: ResourceClaim; readonly deleted: boolean };

export type AllocateResult =
  /** One allocation for each claim, in their order: the first solution in upstream's order. */
  | { readonly type: "allocated"; readonly allocations: readonly AllocationResult[] }
  /** This node cannot serve the claims. */
  | { readonly type: "refused"; readonly message: string }
  /** The whole attempt fails, whatever other nodes have. */
  | { readonly type: "error"; readonly message: string }
  /**
   * `shouldStop` said so; `resume` goes on where the search stopped, with what was known when it began. A solution
   * that devices taken or slices changed since then forbid is thrown away, and the search begins anew.
   */
  | { readonly type: "stopped"; resume(): AllocateResult };

/**
 * Structured-parameters allocation (KEP-4381). Pure: no I/O, no clock, no randomness. Objects given to it are kept by
 * reference and must not change.
 */
export interface Allocator {
  /**
   * Takes note of a change. A state of a claim with a smaller `resourceVersion` (compared as numbers, KEP-5504) than
   * one that was seen before is ignored. A deletion is final, whatever its version: a uid never comes back.
   */
  update(event: AllocatorEvent): void;
  /** All claims or none. Claims that have an allocation already are not passed. Changes nothing. */
  allocate(
    node: Node,
    claims: readonly ResourceClaim[],
    options?: { shouldStop?: () => boolean },
  ): AllocateResult;
  /**
   * The nodes that an index does not rule out for the claims; undefined: any node may do. A node that is left out would
   * be refused with `cannot allocate all claims`. Valid until the next change.
   */
  candidates(claims: readonly ResourceClaim[]): Candidates | undefined;
  /**
   * Takes the devices of `allocations` out of what later calls see, at once. Throws DeviceInUseError where another
   * claim has taken one since `allocate` chose it; then nothing is taken. Admin access takes no device.
   */
  reserve(claims: readonly ResourceClaim[], allocations: readonly AllocationResult[]): Reservation;
  /**
   * The first device of a claim, as `update` has seen it last, whose counters or capacity are less than what all claims
   * and reservations take of them; undefined: all suffice, or nobody publishes the device.
   */
  overdrawn(claim: ResourceClaim): Overdrawn | undefined;
  /** A device that the node can reach, as it is published now. */
  device(
    node: Node,
    id: Pick<DeviceRequestAllocationResult, "driver" | "pool" | "device">,
  ): Device | undefined;
  /**
   * How many devices of complete pools the node can reach that are of the class, and how many of them claims have, wholly or
   * in part; for scores. A device on which a selector of the class fails is not of the class.
   */
  totals(node: Node, className: string): { readonly devices: number; readonly taken: number };
  /** What it has done since it was made: how often a selector was evaluated on a shape of device. */
  statistics(): { readonly evaluations: number };
  /**
   * A second pass, for people: the path that does not ask never pays for it. `allDevices`: it names every device, not
   * five of each group. `shouldStop`: for a caller that knows that the node refuses the claims; a search that is
   * stopped counts as that.
   */
  explain(node: Node, claims: readonly ResourceClaim[], options?: ExplainOptions): Explanation;
}
