import type { Node } from "@dray/api/core/v1";
import type { AllocationResult, DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";

/** Which rules differ between releases and gates; fields of structured.Features upstream. */
export interface Features {
  readonly adminAccess: boolean;
  readonly prioritizedList: boolean;
  readonly partitionableDevices: boolean;
  readonly consumableCapacity: boolean;
  readonly deviceTaints: boolean;
  readonly deviceBindingAndStatus: boolean;
  /** These choose between upstream's implementations, whose answers differ in details (see `policies.ts`). */
  readonly fractionalCapacityRange?: boolean;
  readonly listTypeAttributes?: boolean;
  readonly optionalNodeOperations?: boolean;
}

export interface AllocatorOptions {
  readonly features: Features;
  /** A fresh lowercase UUID for shares of devices. */
  newId(): string;
}

/** A change of what there is to allocate. Claims count as soon as they have an allocation. */
export type AllocatorEvent =
  | { readonly kind: "slice"; readonly object: ResourceSlice; readonly deleted: boolean }
  | { readonly kind: "class"; readonly object: DeviceClass; readonly deleted: boolean }
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
 * Devices held in memory for claims whose allocation is not stored yet. Whoever stores an allocation hands the stored
 * claim to `update` before `commit` or `rollback`: then no order of these calls and of what a watch brings ever frees
 * a device that a stored allocation has.
 */
export interface Reservation {
  /**
   * The allocations are stored. The devices stay held until `update` has seen each claim with them, or its deletion;
   * what `update` says of a claim counts from then on.
   */
  commit(): void;
  /** The devices are free again, but for those that `update` has seen in a claim. After `commit` it does nothing. */
  rollback(): void;
}

/** A reservation of a device that another claim holds. */
export class DeviceInUseError extends Error {
  override readonly name = "DeviceInUseError";
  /** `driver/pool/device` */
  readonly device: string;

  constructor(device: string, claim: string, holder: string) {
    super(`device ${device} cannot be reserved for claim ${claim}: claim ${holder} holds it`);
    this.device = device;
  }
}

/** Why a node refuses claims, or why a device was chosen. Its JSON form is documented in this package's README. */
export interface Explanation {
  readonly node: string;
  readonly claims: readonly ClaimExplanation[];
}

export interface ClaimExplanation {
  readonly claim: string;
  readonly requests: readonly RequestExplanation[];
}

export interface RequestExplanation {
  readonly request: string;
  readonly wanted: number;
  /** Devices that the node can reach. */
  readonly seen: number;
  /** Devices that pass every check of this request alone. */
  readonly suitable: number;
  /** The devices that were ruled out, grouped by the first check that did it. */
  readonly refused: readonly RefusalGroup[];
}

export interface RefusalGroup {
  readonly check:
    | "in-use"
    | "class-selector"
    | "request-selector"
    | "node"
    | "pool"
    | "gate"
    | "taint"
    | "error";
  /** What exactly: the selector's text and the values it read, the claim that holds the device, ... */
  readonly cause: string;
  readonly count: number;
  /** At most five names, `driver/pool/device`. */
  readonly devices: readonly string[];
}

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
  /** Names of nodes that an index does not rule out for the claims, lazily; undefined: any node may do. */
  candidates(claims: readonly ResourceClaim[]): Iterable<string> | undefined;
  /**
   * Takes the devices of `allocations` out of what later calls see, at once. Throws DeviceInUseError where another
   * claim has taken one since `allocate` chose it; then nothing is taken. Admin access takes no device.
   */
  reserve(claims: readonly ResourceClaim[], allocations: readonly AllocationResult[]): Reservation;
  /** A second pass, for people: the path that does not ask never pays for it. */
  explain(node: Node, claims: readonly ResourceClaim[]): Explanation;
}
