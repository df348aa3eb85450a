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

/** What other claims hold. */
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

/** null: the claims do not fit on this node. An error ends the attempt on all nodes, a node error on this one. */
export type Answer =
  | { readonly allocations: readonly AllocationResult[] | null }
  | { readonly error: string }
  | { readonly nodeError: string };

/** The whole attempt fails. */
export class AttemptError extends Error {}

/** Upstream has three implementations whose answers differ, and takes the first that knows all features. */
export type Variant = "stable" | "incubating" | "experimental";

const known = {
  stable: ["AdminAccess", "DeviceTaints", "PartitionableDevices", "PrioritizedList"],
  incubating: ["ConsumableCapacity", "DeviceBindingAndStatus", "FractionalCapacityRange"],
};

export function variantOf(features: readonly string[]): Variant {
  const beyondStable = features.filter((name) => !known.stable.includes(name));
  if (beyondStable.length === 0) return "stable";
  return beyondStable.every((name) => known.incubating.includes(name)) ? "incubating" : "experimental";
}

export function isOn(question: Question, feature: string): boolean {
  return question.features.includes(feature);
}

/** Most devices of one claim (resource.k8s.io AllocationResultsMaxSize). */
export const resultsLimit = 32;

export interface Pool {
  readonly driver: string;
  readonly name: string;
  readonly state: "usable" | "incomplete" | "invalid";
  /** Slices with devices that the node reaches, in the order of the search. */
  readonly slices: readonly ResourceSlice[];
  /** Slices of other nodes, where the pool could not be told to be complete without them. */
  readonly elsewhere: readonly ResourceSlice[];
  /** Counter set, counter, amount. */
  readonly counters: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** A device in its place. */
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
  /** Devices wanted. */
  readonly count: number;
  /** Mode All: exactly these. */
  readonly all: readonly Candidate[] | undefined;
}

/** The name that errors use. */
export const shortName = (alternative: Alternative): string => alternative.subrequest ?? alternative.request;
/** The name that results use. */
export const fullName = ({ request, subrequest }: Alternative): string =>
  subrequest === undefined ? request : `${request}/${subrequest}`;

export interface PreparedRequest {
  /** Whether it is a list of alternatives (firstAvailable). */
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

/** One device for one alternative. */
export interface Pick {
  readonly alternative: Alternative;
  readonly candidate: Candidate;
  /** Whether its counters are charged to it: not for a further share of a device that is shared already. */
  readonly charged: boolean;
  /** For a share of a device: what it takes of each capacity. */
  readonly share: ReadonlyMap<string, string> | undefined;
}

/** What the search has decided so far. */
export interface Partial {
  readonly picks: readonly Pick[];
  /** The alternative taken for each request that is served. */
  readonly chosen: readonly Alternative[];
}

/** The value of a key of an API map. A plain `[key]` would find `constructor`, which is a legal name. */
export function entry<T>(map: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
