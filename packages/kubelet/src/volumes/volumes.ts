import { join } from "node:path";
import { encodeJSON, Quantity } from "@dray/api";
import type { Pod, Volume, VolumeProjection } from "@dray/api/core/v1";
import { podLimits } from "@dray/api/pod";
import { removeTree, unmountBelow } from "../base/unmount.ts";
import { claimNameOf, claimPlace } from "./claim-volumes.ts";
import { makeEmptyDir } from "./empty-dir.ts";
import { fsGroupOf, giveToGroup, takesUserOfRuntime } from "./fs-group.ts";
import { hostPathPlace } from "./host-path.ts";
import { type VolumeFile, writeFiles } from "./volume-files.ts";
import { VolumeSources } from "./volume-sources.ts";
import type { VolumesOptions } from "./volumes-options.ts";

/** A volume could not be set up; the message is that of the FailedMount event. */
export class VolumeError extends Error {
  override readonly name = "VolumeError";
}

/** The volumes of a pod. */
export interface SetUpVolumes {
  /** Paths on the machine by name. */
  readonly places: ReadonlyMap<string, string>;
  /** Events of the pod about volumes that are not as it requests. */
  readonly warnings: readonly VolumeWarning[];
}

export interface VolumeWarning {
  readonly reason: string;
  readonly message: string;
}

/** Interval in milliseconds at which config maps and secrets are read. Upstream: `--sync-frequency`. */
const refreshInterval = 60_000;

/** The volumes of pods as folders below the node's kubelet directory. */
export class Volumes {
  readonly #options: VolumesOptions;
  readonly #sources: VolumeSources;
  /** By pod: when its volumes were last set up, and from which labels and annotations. */
  readonly #setUps = new Map<string, { readonly at: number; readonly metadata: string }>();
  /** Pods with outdated volumes. */
  readonly #outdated = new Set<string>();

  constructor(options: VolumesOptions) {
    this.#options = options;
    this.#sources = new VolumeSources(options);
  }

  /** Folder of a pod on this node. */
  podDirectory(uid: string): string {
    return join(this.#options.paths.pods, uid);
  }

  /** Makes or updates every volume. Rejects with `VolumeError`. */
  async setUp(pod: Pod): Promise<SetUpVolumes> {
    const { clock, certificates } = this.#options;
    const { uid } = pod.metadata;
    const places = new Map<string, string>();
    const warnings: VolumeWarning[] = [];
    const outdated = this.#outdated.delete(uid);
    // Concurrently: one source must not wait for the certificate of another.
    certificates.track(pod);
    await Promise.all(
      (pod.spec.volumes ?? []).map(async (volume) => {
        // The runtime mounts it.
        if (volume.image !== undefined) return;
        try {
          places.set(volume.name, await this.#setUp(pod, volume, warnings));
        } catch (error) {
          if (outdated) this.#outdated.add(uid);
          throw new VolumeError(
            `MountVolume.SetUp failed for volume "${volume.name}" : ${(error as Error).message}`,
            { cause: error },
          );
        }
      }),
    );
    this.#setUps.set(uid, { at: clock.now(), metadata: metadataText(pod) });
    return { places, warnings };
  }

  /** Marks the volumes of a pod as outdated, because one of their sources has changed. */
  markOutdated(uid: string): void {
    this.#outdated.add(uid);
  }

  /** Milliseconds until volumes of the pod are due for a refresh; undefined if nothing in them changes. */
  refreshIn(pod: Pod): number | undefined {
    const { uid } = pod.metadata;
    const now = this.#options.clock.now();
    const times = this.#sources.refreshTimes(uid);
    const last = this.#setUps.get(uid);
    const sources = (pod.spec.volumes ?? []).flatMap((volume) => [
      volume,
      ...(volume.projected?.sources ?? []),
    ]);
    if (last !== undefined) {
      if (sources.some(({ configMap, secret }) => configMap !== undefined || secret !== undefined))
        times.push(last.at + refreshInterval);
      if (sources.some(({ downwardAPI }) => downwardAPI !== undefined) && last.metadata !== metadataText(pod))
        times.push(now);
    }
    if (this.#outdated.has(uid)) times.push(now);
    return times.length === 0 ? undefined : Math.max(0, times.reduce((a, b) => Math.min(a, b)) - now);
  }

  /** Removes all files of the pod except for its logs. */
  tearDown(uid: string): void {
    this.#sources.forget(uid);
    this.#setUps.delete(uid);
    this.#outdated.delete(uid);
    this.#options.certificates.forget(uid);
    removeTree(this.podDirectory(uid));
  }

  /**
   * Unmounts everything below the node's root, for a node that is gone for good. No container runs any more.
   */
  close(): void {
    unmountBelow(this.#options.paths.pods);
  }

  /** Folder of a volume that the agent makes. */
  folder({ metadata }: Pod, kind: string, name: string): string {
    return join(this.podDirectory(metadata.uid), "volumes", `kubernetes.io~${kind}`, name);
  }

  async #setUp(pod: Pod, volume: Volume, warnings: VolumeWarning[]): Promise<string> {
    const { emptyDir, hostPath, configMap, secret, downwardAPI, projected, name } = volume;
    const { paths } = this.#options;
    if (hostPath !== undefined) return hostPathPlace(hostPath, paths);
    if (emptyDir !== undefined) {
      const path = this.folder(pod, "empty-dir", name);
      const { made, warning } = makeEmptyDir(path, emptyDir, this.#maxMemory(pod));
      if (warning !== undefined)
        warnings.push({ reason: "EmptyDirOnDisk", message: `volume "${name}": ${warning}` });
      if (made) this.#own(pod, name, path, "Always", warnings);
      return path;
    }
    if (claimNameOf(pod, volume) !== undefined) {
      const { place, managed } = await claimPlace(pod, volume, this.#options);
      const { readOnly } = volume.persistentVolumeClaim ?? {};
      const policy = pod.spec.securityContext?.fsGroupChangePolicy;
      // Once, before the containers start: files that they write later are theirs.
      if (managed && !readOnly && !this.#setUps.has(pod.metadata.uid))
        this.#own(pod, name, place, policy, warnings);
      return place;
    }
    const [kind, sources, mode]: [string, readonly VolumeProjection[], number] =
      configMap !== undefined
        ? ["configmap", [{ configMap: { ...configMap } }], configMap.defaultMode ?? 0o644]
        : secret !== undefined
          ? [
              "secret",
              [{ secret: { ...secret, name: secret.secretName ?? "" } }],
              secret.defaultMode ?? 0o644,
            ]
          : downwardAPI !== undefined
            ? ["downward-api", [{ downwardAPI: { ...downwardAPI } }], downwardAPI.defaultMode ?? 0o644]
            : ["projected", projected?.sources ?? [], projected?.defaultMode ?? 0o644];
    if (kind === "projected" && projected === undefined) {
      const type = Object.keys(volume).find((key) => key !== "name");
      throw new Error(
        `volumes of type ${type} are not supported on this node; supported are emptyDir, hostPath, configMap, secret, downwardAPI, projected, persistentVolumeClaim, ephemeral and image`,
      );
    }
    const files: VolumeFile[] = [];
    for (const [index, source] of sources.entries())
      for (const each of await this.#sources.files({ pod, volume: name, source, index, mode }))
        files.push(each);
    const path = this.folder(pod, kind, name);
    // Another user than root owns its files already.
    const privileged = process.getuid?.() === 0;
    const reader = takesUserOfRuntime(pod) ? this.#options.userOfPod(pod.metadata.uid) : undefined;
    const owned = files.map(({ user, ...file }) => {
      if (!privileged) return file;
      // A file without read permission for others: root of an image could read it.
      const owner = user ?? ((file.mode & 0o004) === 0 ? reader : undefined);
      return owner === undefined ? file : { ...file, user: owner };
    });
    writeFiles(path, owned, privileged ? fsGroupOf(pod) : undefined);
    return path;
  }

  /** Maximum size of an empty directory in memory: the limit of the pod, or the node's allocatable. */
  #maxMemory(pod: Pod): bigint {
    const allocatable = Quantity.parse(this.#options.node().status?.allocatable?.["memory"] ?? "0").value();
    const limit = podLimits(pod).get("memory")?.value() ?? 0n;
    return limit > 0n && limit < allocatable ? limit : allocatable;
  }

  /** Gives a volume to the pod's group. On failure it is used unchanged, as upstream does. */
  #own(pod: Pod, name: string, path: string, policy: string | undefined, warnings: VolumeWarning[]): void {
    const group = fsGroupOf(pod);
    if (group === undefined) return;
    try {
      giveToGroup(path, { group, readOnly: false, onRootMismatch: policy === "OnRootMismatch" });
    } catch (error) {
      const message = `volume "${name}" is not owned by fsGroup ${group}: ${(error as Error).message}`;
      warnings.push({ reason: "FSGroupFailed", message });
    }
  }
}

function metadataText({ metadata: { labels = {}, annotations = {} } }: Pod): string {
  return encodeJSON({ labels, annotations });
}
