import type { Node } from "@dray/api/core/v1";
import type {
  AllocationResult,
  Device,
  DeviceClass,
  DeviceRequestAllocationResult,
  DeviceTaint,
  DeviceTaintRule,
  ResourceClaim,
  ResourceSlice,
} from "@dray/api/resource/v1";

/** Which features are on; the fields of structured.Features upstream, which also choose its implementation (`policies.ts`). */
export interface Features {
  readonly adminAccess: boolean;
  readonly prioritizedList: boolean;
  readonly partitionableDevices: boolean;
  readonly deviceTaints: boolean;
  readonly consumableCapacity: boolean;
  readonly deviceBindingAndStatus: boolean;
  readonly fractionalCapacityRange: boolean;
  readonly listTypeAttributes: boolean;
  readonly derivedAttributes: boolean;
  readonly compatibilityGroups: boolean;
  readonly optionalNodeOperations: boolean;
}

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

/**
 * Where upstream's answer is held to be wrong, the right one. All are off by default: then the answer is the one that a
 * cluster gives, and `explain` notes where a correction would change it.
 */
export interface Corrections {
  /** Admin access takes no counters and joins no compatibility groups (kubernetes#140729). */
  readonly adminAccessIgnoresCounters: boolean;
  /** Mode All refuses a node with a pool that is incomplete or invalid, instead of failing everywhere (kubernetes#141898). */
  readonly allModeRefusesNode: boolean;
  /** A request for capacity `driver/name` means the capacity `name` of that driver, and the other way round (kubernetes#142202). */
  readonly capacityNamesByDriver: boolean;
  /** A pool whose slices disagree on their number is invalid (kubernetes#141117). */
  readonly sliceCountsMustAgree: boolean;
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

/** A reservation of a device that another claim holds, or whose counters or capacity others have used up. */
export class DeviceInUseError extends Error {
  override readonly name = "DeviceInUseError";
  /** `driver/pool/device` */
  readonly device: string;

  constructor(device: string, claim: string, reason: string) {
    super(`device ${device} cannot be reserved for claim ${claim}: ${reason}`);
    this.device = device;
  }
}

/** A device of which claims have more than there is. */
export interface Overdrawn {
  /** `driver/pool/device` */
  readonly device: string;
  /** The shortage, in words. */
  readonly reason: string;
}

/** Why a node refuses claims, or how it serves them. Plain data: its JSON form is documented in this package's README. */
export interface Explanation {
  readonly node: string;
  readonly outcome: "allocated" | "refused" | "error";
  /** The text of a refusal or an error, as kube-scheduler reports it. */
  readonly message?: string;
  readonly claims: readonly ClaimExplanation[];
}

/** What became of each request of a claim. */
export interface ClaimExplanation {
  /** `namespace/name`, or `name` of a claim without a namespace. */
  readonly claim: string;
  readonly requests: readonly RequestExplanation[];
}

/**
 * What became of each device for one request. It counts once: chosen, refused, or else suitable but not needed, or not
 * met before the search was over.
 */
export interface RequestExplanation {
  /** `request`, or `request/subrequest` for an alternative. */
  readonly request: string;
  readonly deviceClass: string;
  /** Devices asked for; of mode All those that its selectors choose. */
  readonly wanted: number;
  /** Devices that the node can reach. */
  readonly seen: number;
  /** Devices that pass every check of this request alone. */
  readonly suitable: number;
  /** Them, `driver/pool/device`; only where all devices are named. */
  readonly suitableDevices?: readonly string[];
  /** What the solution, or the deepest partial one, gives it: `driver/pool/device`. */
  readonly chosen: readonly string[];
  /** The devices that were ruled out, grouped by the first check that did it. */
  readonly refused: readonly RefusalGroup[];
}

/**
 * In the order in which a device is explained: what a device is comes before who has it, so that a device of another
 * class never counts as in use. (The search passes over devices in use first.) Gates of counters and of node operations
 * come after the capacity; in mode All `in-use` does too.
 */
export type Check =
  | "pool"
  | "gate"
  | "class-selector"
  | "request-selector"
  | "node"
  | "in-use"
  | "capacity"
  | "compatibility-group"
  | "counter"
  | "taint"
  | "constraint"
  | "limit"
  | "error";

/** Devices that one check ruled out for one cause. */
export interface RefusalGroup {
  readonly check: Check;
  /** What exactly, in words. */
  readonly cause: string;
  readonly count: number;
  /** At most five names, `driver/pool/device`, or all; empty where the request as a whole is refused. */
  readonly devices: readonly string[];
  /** The selector that is false, with the attributes and capacities of the device that it read. */
  readonly selector?: {
    readonly expression: string;
    readonly values: Readonly<Record<string, unknown>>;
  };
  /** `other` is the value, and its device, that the rule compares with; absent where the attribute itself is. */
  readonly constraint?: {
    readonly kind: "matchAttribute" | "distinctAttribute";
    readonly attribute: string;
    readonly value?: unknown;
    readonly other?: unknown;
    readonly otherDevice?: string;
  };
  /** What one device asks of a counter, and what is left. */
  readonly counter?: {
    readonly counterSet: string;
    readonly counter: string;
    readonly asked: string;
    readonly left: string;
  };
  readonly capacity?: { readonly key: string; readonly asked: string; readonly left?: string };
  readonly taint?: DeviceTaint;
  /** `namespace/name` of the claim that holds the device. */
  readonly holder?: string;
  /** A correction (`Corrections`) under which this would not stand in the way. */
  readonly note?: string;
}

export interface ExplainOptions {
  readonly allDevices?: boolean;
  readonly shouldStop?: () => boolean;
}

/** Names of nodes, found one after the other as they are asked for. */
export interface Candidates extends Iterable<string> {
  has(node: string): boolean;
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
