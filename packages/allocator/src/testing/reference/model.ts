import type { Node } from "@dray/api/core/v1";
import type {
  AllocationResult,
  Device,
  DeviceClass,
  DeviceConstraint,
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceSlice,
} from "@dray/api/resource/v1";

/** Allocations of other claims. */
export interface Allocated {
  /** `driver/pool/device`, as a whole. */
  readonly devices?: readonly string[];
  /** `driver/pool/device/shareID` */
  readonly shared?: readonly string[];
  /** `driver/pool/device`: capacity that all shares together consume, by name. */
  readonly capacity?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** One question to an allocator: claims to be allocated on a node, and the cluster as it is. */
export interface Question {
  /** Names of the fields of structured.Features that are true. */
  readonly features: readonly string[];
  readonly node: Node;
  readonly claims: readonly ResourceClaim[];
  readonly classes: readonly DeviceClass[];
  readonly slices: readonly ResourceSlice[];
  readonly allocated?: Allocated;
}

/** null: the node refuses the claims. `error` fails the attempt on all nodes, `nodeError` on this one. */
export type Answer =
  | { readonly allocations: readonly AllocationResult[] | null }
  | { readonly error: string }
  | { readonly nodeError: string };

/** Fails the whole attempt. */
export class AttemptError extends Error {}

/** Upstream's implementations, whose results differ. It chooses the first that supports all features. */
export type Variant = "stable" | "incubating" | "experimental";

const supported = {
  stable: ["AdminAccess", "DeviceTaints", "PartitionableDevices", "PrioritizedList"],
  incubating: ["ConsumableCapacity", "DeviceBindingAndStatus", "FractionalCapacityRange"],
};

export function variantOf(features: readonly string[]): Variant {
  const beyondStable = features.filter((name) => !supported.stable.includes(name));
  if (beyondStable.length === 0) return "stable";
  return beyondStable.every((name) => supported.incubating.includes(name)) ? "incubating" : "experimental";
}

export function isOn(question: Question, feature: string): boolean {
  return question.features.includes(feature);
}

/** Maximum number of devices of a claim. Upstream: resource.k8s.io, AllocationResultsMaxSize. */
export const maxResults = 32;

export interface Pool {
  readonly driver: string;
  readonly name: string;
  readonly state: "usable" | "incomplete" | "invalid";
  /** Slices for the node, in the order of the search. */
  readonly slices: readonly ResourceSlice[];
  /** Slices for other nodes, if they are needed to complete the pool. */
  readonly elsewhere: readonly ResourceSlice[];
  /** Counter set, counter, amount. */
  readonly counters: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** A device with its slice and pool. */
export interface Candidate {
  /** `driver/pool/device` */
  readonly id: string;
  readonly pool: Pool;
  readonly slice: ResourceSlice;
  readonly device: Device;
}

export function candidatesOf(pool: Pool): Candidate[] {
  return pool.slices.flatMap((slice) =>
    (slice.spec.devices ?? []).map((device) => ({
      id: `${pool.driver}/${pool.name}/${device.name}`,
      pool,
      slice,
      device,
    })),
  );
}

/** A request, or one alternative of it. */
export interface Alternative {
  readonly claim: number;
  readonly request: string;
  readonly subrequest: string | undefined;
  readonly spec: ExactDeviceRequest | DeviceSubRequest;
  readonly adminAccess: boolean;
  readonly deviceClass: DeviceClass;
  /** Number of requested devices. */
  readonly count: number;
  /** Mode All: the devices. */
  readonly all: readonly Candidate[] | undefined;
}

/** The name in errors. */
export const shortName = (alternative: Alternative): string => alternative.subrequest ?? alternative.request;
/** The name in results. */
export const fullName = ({ request, subrequest }: Alternative): string =>
  subrequest === undefined ? request : `${request}/${subrequest}`;

export interface PreparedRequest {
  /** The request has `firstAvailable`. */
  readonly isList: boolean;
  readonly alternatives: readonly Alternative[];
}

export interface PreparedClaim {
  readonly claim: ResourceClaim;
  /** `namespace/name` */
  readonly name: string;
  readonly requests: readonly PreparedRequest[];
  readonly constraints: readonly DeviceConstraint[];
}

/** A device picked for an alternative. */
export interface Pick {
  readonly alternative: Alternative;
  readonly candidate: Candidate;
  /** It consumes counters: only the first share of a device does. */
  readonly charged: boolean;
  /** For a share of a device, what it consumes of each capacity. */
  readonly share: ReadonlyMap<string, string> | undefined;
}

/** A partial solution. */
export interface Partial {
  readonly picks: readonly Pick[];
  /** The chosen alternative of each request so far. */
  readonly chosen: readonly Alternative[];
}

/** Returns an entry of a map. `map[key]` would find `constructor`, too, which is a valid name. */
export function entry<T>(map: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
