import type { Pod, Volume } from "@dray/api/core/v1";
import type { MountedVolume } from "../types/mounted-volume.ts";
import type { ReferencedObjects } from "./referenced-objects.ts";
import type { ServiceAccountTokens } from "./service-account-tokens.ts";
import type { VolumesOptions } from "./volumes-options.ts";

/** Dependencies of plugins, which have no state of their own. Upstream: pkg/volume/plugins.go, VolumeHost. */
export interface VolumeHost extends VolumesOptions {
  readonly tokens: ServiceAccountTokens;
  readonly objects: ReferencedObjects;
}

/** Fields of a volume that name its kind. */
export type VolumeKind = Exclude<keyof Volume, "name">;

/** One volume of a pod. */
export interface VolumeSpec<K extends VolumeKind = VolumeKind> {
  readonly pod: Pod;
  /** Name of the volume. */
  readonly name: string;
  readonly source: NonNullable<Volume[K]>;
}

export interface VolumeRequest<K extends VolumeKind = VolumeKind> extends VolumeSpec<K> {
  /** Folder in the pod's, for a plugin that makes its volumes; it may not exist yet. */
  readonly folder: string;
  /** Its volumes were not set up since the agent started. */
  readonly isFirst: boolean;
}

/** Event of a pod about a volume that is not as it requests. */
export interface VolumeWarning {
  readonly reason: string;
  readonly message: string;
}

export interface SetUpVolume extends MountedVolume {
  /** Gives the volume to the `fsGroup` of the pod by this policy; absent for a volume that stays as it is. */
  readonly fsGroupPolicy?: "Always" | "OnRootMismatch";
  readonly warnings?: readonly VolumeWarning[];
  /** Name of the PersistentVolumeClaim of the volume. */
  readonly claim?: string;
}

/** The last set-up of all volumes of a pod. */
export interface LastSetUp {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Labels and annotations of the pod as text. */
  readonly metadata: string;
}

/** One kind of volumes. Upstream: pkg/volume/plugins.go, VolumePlugin. */
export interface VolumePlugin<K extends VolumeKind = VolumeKind> {
  /** Supports volumes with this field. */
  readonly field: K;
  /** Name of the plugin, without `kubernetes.io/`; names the folders of its volumes. */
  readonly name: string;
  /** Resource of the API to which a volume refers, which excludes it from static pods. */
  apiReference?(source: NonNullable<Volume[K]>): string | undefined;
  /** Called before each set-up of the volumes of a pod, also without a volume of this kind. */
  track?(pod: Pod, host: VolumeHost): void;
  /**
   * Makes or updates a volume. Resolves with undefined if the runtime mounts it. Rejects with the reason for
   * the FailedMount event.
   */
  setUp(volume: VolumeRequest<K>, host: VolumeHost): Promise<SetUpVolume | undefined>;
  /** Returns when a refresh is due, in milliseconds since the epoch; undefined if nothing will change. */
  refreshAt?(volume: VolumeSpec<K>, last: LastSetUp, host: VolumeHost): number | undefined;
  /** Releases everything of a pod but its folders, which are unmounted and removed afterwards. */
  tearDown?(podUid: string, host: VolumeHost): void;
}
