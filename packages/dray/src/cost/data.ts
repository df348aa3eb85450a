/** The plain data of `dray cost`; its schema is schema/cost.json. */

/** An amount that depends on which alternatives and which devices are allocated. */
export interface Range<T> {
  readonly least: T;
  readonly most: T;
}

/** Devices, and parts of devices, that are held at the same time. */
export interface Held {
  readonly devices: Range<number | bigint>;
  /**
   * Quantities by name. Without ResourceSlices what is asked for, before the policies of devices round it.
   */
  readonly capacity: Readonly<Record<string, Range<string>>>;
  /** Quantities by `driver/counter`, of all counter sets together; empty without ResourceSlices. */
  readonly counters: Readonly<Record<string, Range<string>>>;
}

export interface ClassCost extends Held {
  readonly class: string;
}

/** One way to satisfy a request. */
export interface AlternativeCost extends ClassCost {
  /** `request`, or `request/alternative` */
  readonly request: string;
  readonly adminAccess: boolean;
  /** Number of suitable devices in the cluster, in use or not; null: there are no ResourceSlices. */
  readonly suitable: number | null;
}

export interface ClaimCost {
  /** `ResourceClaim ns/name`, `ResourceClaimTemplate ns/name`, or `extended resources`. */
  readonly claim: string;
  /** Number of such claims that exist at the same time. */
  readonly claims: number;
  /** The cost of one of them: of each request its alternatives, in order of preference. */
  readonly requests: readonly (readonly AlternativeCost[])[];
}

export interface SubjectCost {
  /** `Deployment default/web` */
  readonly object: string;
  /** Pods that run at the same time; of a DaemonSet, on one node if there are no Nodes. */
  readonly pods: number;
  /** The costs are those of each node: the number of nodes is unknown. */
  readonly perNode: boolean;
  /**
   * The costs are those of one run of a CronJob, of which its concurrencyPolicy may allow several at a time.
   */
  readonly perRun: boolean;
  readonly claims: readonly ClaimCost[];
  readonly classes: readonly ClassCost[];
  /** Charges of a ResourceQuota, by the name in `spec.hard`. */
  readonly quota: Readonly<Record<string, string>>;
  /** Missing objects: their devices are not counted. */
  readonly missing: readonly string[];
}

export interface CostData {
  readonly version: 1;
  readonly kubernetesVersion: string;
  readonly subjects: readonly SubjectCost[];
  /** Null if the cost of a subject is per node. */
  readonly total: TotalCost | null;
}

/** All subjects together: a claim that several of them use counts once. */
export interface TotalCost {
  readonly classes: readonly ClassCost[];
  /** By namespace, since a quota is for one. */
  readonly quota: Readonly<Record<string, Readonly<Record<string, string>>>>;
}
