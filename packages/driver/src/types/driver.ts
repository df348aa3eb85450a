import type { NodeSelector } from "@dray/api/core/v1";
import type {
  CounterSet,
  Device,
  DeviceAttribute,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
} from "@dray/api/resource/v1";
import type { ContainerEdits } from "@dray/cdi";
import type { ErrorContext, ErrorDecision } from "./errors.ts";
import type { StandardSchema } from "./standard-schema.ts";

/**
 * Interface for the author of a DRA driver. Sockets, registration, ResourceSlices, checkpoints and CDI files
 * are the business of `runDriver`. `P` are the parameters of claims and classes as `parameters` decodes them.
 */
export interface Driver<P = unknown> {
  /** The name in claims, classes and slices: a lower-case DNS subdomain of at most 63 characters. */
  readonly name: string;
  /** How this driver's devices are named to container runtimes; by default `k8s.<name>/claim`. */
  readonly cdi?: {
    /** `vendor/class` */
    readonly kind?: string;
    /** Edits that every container with one of the devices gets; their device is called `common`. */
    readonly common?: ContainerEdits;
  };
  /**
   * Decodes the opaque parameters of claims and classes: a schema of zod, valibot or any other library with
   * Standard Schema. An error fails the claim, before `prepare` is called. Let it refuse unknown fields: a
   * misspelt one is a mistake.
   */
  readonly parameters?: StandardSchema<P>;
  /**
   * Containers get files that describe the devices of their claims (KEP-5304), in these API versions; see
   * `DeviceEdits.metadata` and `deviceMetadataUpdater`.
   */
  readonly metadata?: { readonly versions: readonly MetadataVersion[] };
  /**
   * Yields all pools of this node now and again whenever something about them changed. An error ends the
   * driver, unless `onError` asks for another try; when it ends by itself, what it yielded last stays
   * published.
   */
  discover(signal: AbortSignal): AsyncIterable<readonly Pool[]>;
  /**
   * Makes the devices of a claim ready and returns what containers need in order to use them. Called one
   * claim at a time, again for a claim that may be prepared already (after a crash, after a reboot): it must
   * answer the same. An error is reported to the kubelet, which tries again; retry within the call what
   * passes in seconds.
   */
  prepare(claim: AllocatedClaim<P>, signal: AbortSignal): Promise<readonly DeviceEdits<P>[]>;
  /**
   * Undoes `prepare`, also one that was cut short; called again after a crash. Parameters are as they were
   * written: they were decoded when the claim was prepared, by a schema that may have changed since.
   */
  unprepare(claim: PreparedClaim): Promise<void>;
  /** Yields the health of all devices, now and whenever it changes (KEP-4680). */
  health?(signal: AbortSignal): AsyncIterable<readonly DeviceHealth[]>;
  /**
   * Receives the errors of `discover` and of publishing, which are logged as well, and decides what follows;
   * without an answer it is what `context.fatal` says. An exception ends the driver.
   */
  onError?(error: Error, context: ErrorContext): ErrorDecision | undefined;
}

/**
 * Devices that are managed together; it may have any number of them, the SDK divides it into slices. The
 * pools of `runDriver` belong to its node. Those of `publishPools` say which nodes reach them, in one of
 * three ways: `nodeSelector`, `allNodes`, or by devices that each have `nodeName`, `nodeSelector` or
 * `allNodes` (KEP-4815).
 */
export interface Pool {
  /** By default the name of the node; required for `publishPools`. */
  readonly name?: string;
  /** In the order in which they are to be allocated. */
  readonly devices: readonly Device[];
  /** Counters that partitions of devices consume (KEP-4815). */
  readonly sharedCounters?: readonly CounterSet[];
  /** The nodes that reach the devices; one term. */
  readonly nodeSelector?: NodeSelector;
  /** All nodes reach the devices. */
  readonly allNodes?: true;
  /**
   * The pool is published with this generation at least: for what the SDK cannot see, such as devices that
   * changed their meaning under the same name. Where it is lower than the present one, the SDK counts on from
   * there.
   */
  readonly generation?: number;
  /** ResourceSlice.spec.partitionTypeAttribute of every slice. */
  readonly partitionTypeAttribute?: string;
  /** ResourceSlice.spec.skipNodeOperations of every slice (KEP-5945). */
  readonly skipNodeOperations?: readonly string[];
}

/** Argument of `unprepare`: kept on disk, since the claim itself may be gone by then. */
export interface PreparedClaim {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** This driver's devices, in the order of the allocation. */
  readonly devices: readonly AllocatedDevice[];
}

/** A claim with the devices of this driver that were allocated to it. */
export interface AllocatedClaim<P = unknown> extends PreparedClaim {
  readonly claim: ResourceClaim;
  readonly devices: readonly AllocatedDevice<P>[];
}

export interface AllocatedDevice<P = unknown> {
  /** Request, pool, device, share, consumed capacity: as in the claim's status. */
  readonly result: DeviceRequestAllocationResult;
  /**
   * The parameters for this driver that apply to the device, those of the class before those of the claim:
   * where they disagree, the later ones win.
   */
  readonly configs: readonly DeviceConfig<P>[];
}

export interface DeviceConfig<P = unknown> {
  readonly source: "FromClass" | "FromClaim";
  /**
   * As the driver's `parameters` decoded them; without those an object as somebody wrote it: decode it
   * strictly.
   */
  readonly parameters: P;
}

/** Edits of a container for the use of one allocated device. */
export interface DeviceEdits<P = unknown> {
  readonly device: AllocatedDevice<P>;
  readonly edits: ContainerEdits;
  /** Metadata of the device for containers, where the driver has `metadata`. */
  readonly metadata?: DeviceMetadata;
}

/**
 * Device metadata (KEP-5304): a file for each request of a claim that containers with its devices see, with
 * what the driver knows of them. Layout, names and content are those of the Go helper.
 * Upstream: k8s.io/dynamic-resource-allocation/kubeletplugin/metadata.go, api/metadata
 */
export interface DeviceMetadata {
  /** By name, as in ResourceSlices. */
  readonly attributes?: Readonly<Record<string, DeviceAttribute>>;
  readonly networkData?: NetworkDeviceData;
}

/** API versions of metadata.resource.k8s.io. */
export const metadataVersions = ["v1alpha1", "v1beta1"] as const;
export type MetadataVersion = (typeof metadataVersions)[number];

export interface DeviceHealth {
  readonly pool: string;
  readonly device: string;
  readonly health: "Healthy" | "Unhealthy" | "Unknown";
  /** For people; at most 1024 characters are kept. */
  readonly message?: string;
}
