import { join } from "node:path";
import type { Pod, Volume } from "@dray/api/core/v1";
import { removeTree, unmountBelow } from "../base/mounts.ts";
import type { MountedVolume } from "../types/mounted-volume.ts";
import { DiskUsages } from "./disk-usage.ts";
import { fsGroupOf, giveToGroup } from "./fs-group.ts";
import type { LastSetUp, SetUpVolume, VolumeHost, VolumePlugin, VolumeWarning } from "./plugin.ts";
import { findPlugin, pluginOf, volumePlugins } from "./plugins.ts";
import { ReferencedObjects } from "./referenced-objects.ts";
import { ServiceAccountTokens } from "./service-account-tokens.ts";
import { labelsAndAnnotations } from "./sources/downward-api.ts";
import type { VolumesOptions } from "./volumes-options.ts";

/** A volume could not be set up; the message is that of the FailedMount event. */
export class VolumeError extends Error {
  override readonly name = "VolumeError";
}

/** The volumes of a pod. */
export interface SetUpVolumes {
  /** By name, without those that the runtime mounts. */
  readonly mounted: ReadonlyMap<string, MountedVolume>;
  readonly warnings: readonly VolumeWarning[];
}

/** A volume of a pod that belongs to a PersistentVolumeClaim. */
export interface ClaimFolder {
  /** Name of the claim. */
  readonly claim: string;
  /** Name of the volume in the pod. */
  readonly volume: string;
  /** Path on the machine. */
  readonly path: string;
}

/** The volumes of pods, most of them folders below the node's kubelet directory. */
export class Volumes {
  readonly usage: DiskUsages;
  readonly #host: VolumeHost;
  /** By UID of the pod. */
  readonly #setUps = new Map<string, LastSetUp>();
  /** Volumes of claims by UID of the pod. */
  readonly #claims = new Map<string, readonly ClaimFolder[]>();
  /** Pods with outdated volumes. */
  readonly #outdated = new Set<string>();

  constructor(options: VolumesOptions) {
    this.usage = new DiskUsages(options.clock);
    this.#host = {
      ...options,
      tokens: new ServiceAccountTokens(options),
      objects: new ReferencedObjects(options.client),
    };
  }

  /** Folder of a pod on this node. */
  podDirectory(uid: string): string {
    return join(this.#host.paths.pods, uid);
  }

  /** Makes or updates every volume. Rejects with `VolumeError`. */
  async setUp(pod: Pod): Promise<SetUpVolumes> {
    const { uid } = pod.metadata;
    const mounted = new Map<string, MountedVolume>();
    const warnings: VolumeWarning[] = [];
    const claims: ClaimFolder[] = [];
    const outdated = this.#outdated.delete(uid);
    for (const plugin of volumePlugins) plugin.track?.(pod, this.#host);
    // Concurrently: one volume must not wait for another.
    const results = await Promise.allSettled(
      (pod.spec.volumes ?? []).map(async (volume) => {
        try {
          const made = await this.#setUp(pod, volume);
          if (made === undefined) return;
          for (const warning of made.warnings ?? []) warnings.push(warning);
          for (const warning of await giveToPod(pod, volume.name, made)) warnings.push(warning);
          const { claim, path } = made;
          if (claim !== undefined) claims.push({ claim, path, volume: volume.name });
          mounted.set(volume.name, made);
        } catch (error) {
          if (outdated) this.#outdated.add(uid);
          throw new VolumeError(
            `MountVolume.SetUp failed for volume "${volume.name}" : ${(error as Error).message}`,
            { cause: error },
          );
        }
      }),
    );
    // No set-up runs any more: it would collide with the next try, or with the removal of the pod.
    const failure = results.find(({ status }) => status === "rejected");
    if (failure?.status === "rejected") throw failure.reason;
    this.#setUps.set(uid, { at: this.#host.clock.now(), metadata: labelsAndAnnotations(pod) });
    this.#claims.set(uid, claims);
    return { mounted, warnings };
  }

  async #setUp(pod: Pod, volume: Volume): Promise<SetUpVolume | undefined> {
    const plugin = pluginOf(volume);
    const source = volume[plugin.field];
    if (source === undefined) return undefined;
    const { name } = volume;
    const isFirst = !this.#setUps.has(pod.metadata.uid);
    const request = { pod, name, source, folder: this.folder(pod, plugin, name), isFirst };
    const { clock, mounted } = this.#host;
    const begun = clock.now();
    let failed = true;
    try {
      const made = await plugin.setUp(request, this.#host);
      failed = false;
      return made;
    } finally {
      mounted?.(plugin.name, failed, Math.max(0, clock.now() - begun));
    }
  }

  /** Marks the volumes of a pod as outdated, because one of their sources has changed. */
  markOutdated(uid: string): void {
    this.#outdated.add(uid);
  }

  /** Milliseconds until volumes of the pod are due for a refresh; undefined if nothing in them changes. */
  refreshIn(pod: Pod): number | undefined {
    const { uid } = pod.metadata;
    if (this.#outdated.has(uid)) return 0;
    const last = this.#setUps.get(uid);
    if (last === undefined) return undefined;
    const times = (pod.spec.volumes ?? []).flatMap((volume) => {
      const plugin = findPlugin(volume);
      const source = plugin && volume[plugin.field];
      if (source === undefined) return [];
      return plugin?.refreshAt?.({ pod, name: volume.name, source }, last, this.#host) ?? [];
    });
    if (times.length === 0) return undefined;
    return Math.max(0, times.reduce((a, b) => Math.min(a, b)) - this.#host.clock.now());
  }

  /** Volumes of claims of a pod that are set up. */
  claims(uid: string): readonly ClaimFolder[] {
    return this.#claims.get(uid) ?? [];
  }

  /** The volumes of the pod have been set up. */
  isSetUp(uid: string): boolean {
    return this.#setUps.has(uid);
  }

  /** Removes all files of the pod except for its logs. */
  async tearDown(uid: string): Promise<void> {
    this.#setUps.delete(uid);
    this.#claims.delete(uid);
    this.#outdated.delete(uid);
    for (const plugin of volumePlugins) plugin.tearDown?.(uid, this.#host);
    await removeTree(this.podDirectory(uid));
  }

  /**
   * Unmounts everything below the node's root, for a node that is gone for good. No container runs any more.
   */
  close(): void {
    unmountBelow(this.#host.paths.pods);
  }

  /** Folder of a volume that a plugin makes. */
  folder({ metadata }: Pod, plugin: Pick<VolumePlugin, "name">, volumeName: string): string {
    return join(this.podDirectory(metadata.uid), "volumes", `kubernetes.io~${plugin.name}`, volumeName);
  }
}

/** Gives a volume to the pod's group. On failure it is used unchanged, as upstream does. */
async function giveToPod(
  pod: Pod,
  volumeName: string,
  { path, fsGroupPolicy }: SetUpVolume,
): Promise<VolumeWarning[]> {
  const group = fsGroupOf(pod);
  if (group === undefined || fsGroupPolicy === undefined) return [];
  try {
    await giveToGroup(path, { group, readOnly: false, onRootMismatch: fsGroupPolicy === "OnRootMismatch" });
    return [];
  } catch (error) {
    const message = `volume "${volumeName}" is not owned by fsGroup ${group}: ${(error as Error).message}`;
    return [{ reason: "FSGroupFailed", message }];
  }
}
