import { join } from "node:path";
import { encodeJSON, type Kind, Quantity, StatusError } from "@dray/api";
import type { TokenRequest } from "@dray/api/authentication/v1";
import {
  ConfigMap,
  type DownwardAPIVolumeFile,
  type KeyToPath,
  type Node,
  type Pod,
  Secret,
  ServiceAccount,
  type ServiceAccountTokenProjection,
  type Volume,
  type VolumeProjection,
} from "@dray/api/core/v1";
import { podLimits } from "@dray/api/pod";
import type { Client, Clock } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import { removeTree, unmountBelow } from "../base/unmount.ts";
import { fieldValue, resourceValue } from "../containers/environment.ts";
import { claimNameOf, claimPlace } from "./claim-volumes.ts";
import { makeEmptyDir } from "./empty-dir.ts";
import { fsGroupOf, fsUserOf, giveToGroup, takesUserOfRuntime } from "./fs-group.ts";
import { hostPathPlace } from "./host-path.ts";
import type { PodCertificates } from "./pod-certificates.ts";
import type { TrustBundles } from "./trust-bundles.ts";
import { type VolumeFile, writeFiles } from "./volume-files.ts";

export interface VolumesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly paths: NodePaths;
  readonly nodeAddress: string;
  readonly trustBundles: Pick<TrustBundles, "read">;
  readonly certificates: Pick<PodCertificates, "track" | "credentials" | "forget">;
  node(): Node;
  /** As whom containers run whose pod names no user; undefined: as their image says. */
  userOfPod(podUid: string): number | undefined;
}

/** A volume could not be set up; the message is that of the FailedMount event. */
export class VolumeError extends Error {
  override readonly name = "VolumeError";
}

/** The volumes of a pod. */
export interface SetUpVolumes {
  /** Their places on the machine, by name. */
  readonly places: ReadonlyMap<string, string>;
  /** What of them is not as the pod wants it: events of the pod. */
  readonly warnings: readonly VolumeWarning[];
}

export interface VolumeWarning {
  readonly reason: string;
  readonly message: string;
}

interface Token {
  readonly token: string;
  /** When a new one is due: after 80% of its life, or a day. */
  readonly refreshAt: number;
}

/** When the contents of config maps and secrets are looked at again, in milliseconds. Upstream: `--sync-frequency`. */
const refreshInterval = 60_000;

/** The volumes of pods as folders below the node's kubelet directory. */
export class Volumes {
  readonly #options: VolumesOptions;
  readonly #tokens = new Map<string, Token>();
  /** By pod: when its volumes were last set up, and from which labels and annotations. */
  readonly #setUps = new Map<string, { readonly at: number; readonly metadata: string }>();
  /** Pods that have volumes whose contents are known to have changed. */
  readonly #outdated = new Set<string>();
  /** Contents of config maps and secrets that never change, by pod, kind and name. */
  readonly #immutable = new Map<string, ConfigMap | Secret>();

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  /** The directory that holds what a pod has on this node. */
  podDirectory(uid: string): string {
    return join(this.#options.paths.pods, uid);
  }

  /**
   * Makes every volume, or brings it up to date. Rejects with `VolumeError`.
   */
  async setUp(pod: Pod): Promise<SetUpVolumes> {
    const { clock, certificates } = this.#options;
    const { uid } = pod.metadata;
    const places = new Map<string, string>();
    const warnings: VolumeWarning[] = [];
    const outdated = this.#outdated.delete(uid);
    // All at once: one source must not wait until another has its certificate.
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

  /** Milliseconds until volumes of the pod are due to be looked at again; undefined where nothing in them changes. */
  refreshIn(pod: Pod): number | undefined {
    const { uid } = pod.metadata;
    const now = this.#options.clock.now();
    const times = [...this.#tokens]
      .filter(([key]) => key.startsWith(`${uid}\0`))
      .map(([, { refreshAt }]) => refreshAt);
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

  /** Removes everything that the pod has on disk but its logs. */
  tearDown(uid: string): void {
    for (const known of [this.#tokens, this.#immutable])
      for (const key of known.keys()) if (key.startsWith(`${uid}\0`)) known.delete(key);
    this.#setUps.delete(uid);
    this.#outdated.delete(uid);
    this.#options.certificates.forget(uid);
    removeTree(this.podDirectory(uid));
  }

  /** The node goes for good: nothing may stay mounted below its root. No container runs any more. */
  close(): void {
    unmountBelow(this.#options.paths.pods);
  }

  /** Where a volume of a kind lies that the agent makes. */
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
      // Once, before the containers start: what they write later is theirs.
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
      for (const each of await this.#files(pod, name, source, index, mode)) files.push(each);
    const path = this.folder(pod, kind, name);
    // Another user than root owns what it makes, and no more.
    const privileged = process.getuid?.() === 0;
    const reader = takesUserOfRuntime(pod) ? this.#options.userOfPod(pod.metadata.uid) : undefined;
    const owned = files.map(({ user, ...file }) => {
      if (!privileged) return file;
      // Closed to others: an image's root could read it.
      const owner = user ?? ((file.mode & 0o004) === 0 ? reader : undefined);
      return owner === undefined ? file : { ...file, user: owner };
    });
    writeFiles(path, owned, privileged ? fsGroupOf(pod) : undefined);
    return path;
  }

  /** What an empty directory in memory may hold: as much as the pod, or as the node has for all. */
  #maxMemory(pod: Pod): bigint {
    const allocatable = Quantity.parse(this.#options.node().status?.allocatable?.["memory"] ?? "0").value();
    const limit = podLimits(pod).get("memory")?.value() ?? 0n;
    return limit > 0n && limit < allocatable ? limit : allocatable;
  }

  /** Gives a volume to the pod's group. What cannot be given is used as it is, as upstream does. */
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

  async #files(
    pod: Pod,
    volume: string,
    source: VolumeProjection,
    index: number,
    mode: number,
  ): Promise<VolumeFile[]> {
    if (source.configMap !== undefined) {
      const { name = "", items, optional } = source.configMap;
      const found = await this.#source(pod, ConfigMap, `configmap "${name}" not found`, optional, name);
      const data = new Map<string, Buffer>();
      for (const [key, value] of Object.entries(found?.data ?? {})) data.set(key, Buffer.from(value));
      for (const [key, value] of Object.entries(found?.binaryData ?? {}))
        data.set(key, Buffer.from(value as string, "base64"));
      return keyed(data, items, mode, optional, "configmap references non-existent config key");
    }
    if (source.secret !== undefined) {
      const { name = "", items, optional } = source.secret;
      const found = await this.#source(pod, Secret, `secret "${name}" not found`, optional, name);
      const data = new Map<string, Buffer>();
      for (const [key, value] of Object.entries(found?.data ?? {}))
        data.set(key, Buffer.from(value as string, "base64"));
      return keyed(data, items, mode, optional, "references non-existent secret key");
    }
    if (source.downwardAPI !== undefined)
      return (source.downwardAPI.items ?? []).map((item) => this.#downward(pod, item, mode));
    if (source.serviceAccountToken !== undefined) {
      const content = await this.#token(pod, volume, source.serviceAccountToken);
      return [narrowed(pod, source.serviceAccountToken.path, content, mode)];
    }
    if (source.clusterTrustBundle !== undefined) {
      const anchors = await this.#options.trustBundles.read(source.clusterTrustBundle);
      return [narrowed(pod, source.clusterTrustBundle.path, anchors, mode)];
    }
    if (source.podCertificate !== undefined) {
      const { credentialBundlePath, keyPath, certificateChainPath } = source.podCertificate;
      const { certificates } = this.#options;
      const { privateKey, certificateChain } = certificates.credentials(pod.metadata.uid, volume, index);
      const files: [path: string | undefined, content: string][] = [
        [credentialBundlePath, privateKey + certificateChain],
        [keyPath, privateKey],
        [certificateChainPath, certificateChain],
      ];
      return files.flatMap(([path, content]) => (path ? [narrowed(pod, path, content, mode)] : []));
    }
    throw new Error(`projected source ${Object.keys(source).join()} is not supported on this node`);
  }

  /** A config map or secret; undefined where it is missing and optional. */
  async #source<T extends ConfigMap | Secret>(
    pod: Pod,
    kind: Kind<T>,
    missing: string,
    optional: boolean | undefined,
    name: string,
  ): Promise<T | undefined> {
    const { namespace, uid } = pod.metadata;
    const key = [uid, kind.kind, name].join("\0");
    const known = this.#immutable.get(key);
    if (known !== undefined) return known as T;
    const found = await orMissing(missing, optional, () =>
      this.#options.client.resource(kind).get({ namespace, name }),
    );
    if (found?.immutable) this.#immutable.set(key, found);
    return found;
  }

  #downward(pod: Pod, item: DownwardAPIVolumeFile, mode: number): VolumeFile {
    const { path, fieldRef, resourceFieldRef } = item;
    let text = "";
    if (fieldRef !== undefined)
      text = fieldValue(pod, fieldRef.fieldPath, { podIPs: [], hostIPs: [this.#options.nodeAddress] });
    else if (resourceFieldRef !== undefined) {
      const { containerName, resource, divisor } = resourceFieldRef;
      const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find(
        ({ name }) => name === containerName,
      );
      if (container === undefined) throw new Error(`container ${containerName} not found`);
      text = resourceValue(container, resource, divisor, [this.#options.node().status?.allocatable]);
    }
    return { path, content: Buffer.from(text), mode: item.mode ?? mode };
  }

  async #token(
    pod: Pod,
    volume: string,
    { path, audience, expirationSeconds = 3600 }: ServiceAccountTokenProjection,
  ): Promise<string> {
    const { clock, client } = this.#options;
    const key = [pod.metadata.uid, volume, path].join("\0");
    const known = this.#tokens.get(key);
    if (known !== undefined && known.refreshAt > clock.now()) return known.token;
    const { namespace, name, uid } = pod.metadata;
    const seconds = Number(expirationSeconds);
    try {
      const answer = await client
        .resource(ServiceAccount)
        .post<TokenRequest>({ namespace, name: pod.spec.serviceAccountName || "default" }, "token", {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec: {
            audiences: audience ? [audience] : [],
            expirationSeconds: seconds,
            boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
          },
        });
      const { token = "", expirationTimestamp } = answer.status ?? {};
      const now = clock.now();
      const life = expirationTimestamp === undefined ? seconds * 1000 : Date.parse(expirationTimestamp) - now;
      this.#tokens.set(key, { token, refreshAt: now + Math.min(life * 0.8, 24 * 3600_000) });
      return token;
    } catch (error) {
      // A token that is still good is better than none (kubelet's token manager does so too).
      if (known !== undefined) return known.token;
      throw new Error(`failed to fetch token: ${(error as Error).message}`, { cause: error });
    }
  }
}

/** A file as narrow as the pod says who reads it. Upstream: pkg/volume/projected/projected.go, collectData. */
function narrowed(pod: Pod, path: string, content: string, mode: number): VolumeFile {
  const user = fsUserOf(pod);
  const file = { path, content: Buffer.from(content) };
  if (user === undefined && fsGroupOf(pod) === undefined) return { ...file, mode };
  return { ...file, mode: 0o600, ...(user === undefined ? {} : { user }) };
}

async function orMissing<T>(
  message: string,
  optional: boolean | undefined,
  get: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await get();
  } catch (error) {
    if (!StatusError.is(error, "NotFound")) throw error;
    if (optional) return undefined;
    throw new Error(message, { cause: error });
  }
}

function keyed(
  data: ReadonlyMap<string, Buffer>,
  items: readonly KeyToPath[] | undefined,
  mode: number,
  optional: boolean | undefined,
  problem: string,
): VolumeFile[] {
  if (items === undefined || items.length === 0)
    return [...data].map(([path, content]) => ({ path, content, mode }));
  const files: VolumeFile[] = [];
  for (const { key, path, mode: own } of items) {
    const content = data.get(key);
    if (content !== undefined) files.push({ path, content, mode: own ?? mode });
    else if (!optional) throw new Error(`${problem}: ${key}`);
  }
  return files;
}

function metadataText({ metadata: { labels = {}, annotations = {} } }: Pod): string {
  return encodeJSON({ labels, annotations });
}
