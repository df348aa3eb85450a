import { type Kind, StatusError } from "@dray/api";
import type { TokenRequest } from "@dray/api/authentication/v1";
import {
  ConfigMap,
  type DownwardAPIVolumeFile,
  type KeyToPath,
  type Pod,
  Secret,
  ServiceAccount,
  type ServiceAccountTokenProjection,
  type VolumeProjection,
} from "@dray/api/core/v1";
import { fieldValue, resourceValue } from "../containers/environment.ts";
import { fsGroupOf, fsUserOf } from "./fs-group.ts";
import type { VolumeFile } from "./volume-files.ts";
import type { VolumesOptions } from "./volumes-options.ts";

interface Token {
  readonly token: string;
  /** When a new one is requested: after 80% of its life, or a day. */
  readonly refreshAt: number;
}

/** One source of a volume. */
export interface VolumeSource {
  readonly pod: Pod;
  /** Name of the volume. */
  readonly volume: string;
  readonly source: VolumeProjection;
  /** Index of the source in a projected volume. */
  readonly index: number;
  /** Mode of files without a mode of their own. */
  readonly mode: number;
}

interface SourceObject<T extends ConfigMap | Secret> {
  readonly pod: Pod;
  readonly kind: Kind<T>;
  readonly name: string;
  /** The error for an object that does not exist. */
  readonly missing: string;
  readonly optional: boolean | undefined;
}

/**
 * Contents of the volumes of pods that come from the API: objects, tokens, certificates, and fields of the
 * pod.
 */
export class VolumeSources {
  readonly #options: VolumesOptions;
  readonly #tokens = new Map<string, Token>();
  /** Immutable config maps and secrets, by UID of the pod, kind and name. */
  readonly #immutable = new Map<string, ConfigMap | Secret>();

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  /** When the tokens of a pod are due for a refresh, in milliseconds since the epoch. */
  refreshTimes(podUid: string): number[] {
    return [...this.#tokens]
      .filter(([key]) => key.startsWith(`${podUid}\0`))
      .map(([, { refreshAt }]) => refreshAt);
  }

  forget(podUid: string): void {
    for (const known of [this.#tokens, this.#immutable])
      for (const key of known.keys()) if (key.startsWith(`${podUid}\0`)) known.delete(key);
  }

  /** Rejects if the source does not exist and is not optional. */
  async files({ pod, volume, source, index, mode }: VolumeSource): Promise<VolumeFile[]> {
    if (source.configMap !== undefined) {
      const { name = "", items, optional } = source.configMap;
      const missing = `configmap "${name}" not found`;
      const found = await this.#object({ pod, kind: ConfigMap, name, missing, optional });
      const data = new Map<string, Buffer>();
      for (const [key, value] of Object.entries(found?.data ?? {})) data.set(key, Buffer.from(value));
      for (const [key, value] of Object.entries(found?.binaryData ?? {}))
        data.set(key, Buffer.from(value as string, "base64"));
      return keyed(data, { items, mode, optional, problem: "configmap references non-existent config key" });
    }
    if (source.secret !== undefined) {
      const { name = "", items, optional } = source.secret;
      const missing = `secret "${name}" not found`;
      const found = await this.#object({ pod, kind: Secret, name, missing, optional });
      const data = new Map<string, Buffer>();
      for (const [key, value] of Object.entries(found?.data ?? {}))
        data.set(key, Buffer.from(value as string, "base64"));
      return keyed(data, { items, mode, optional, problem: "references non-existent secret key" });
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

  /** Returns undefined for an object that is missing and optional. */
  async #object<T extends ConfigMap | Secret>({
    pod,
    kind,
    name,
    missing,
    optional,
  }: SourceObject<T>): Promise<T | undefined> {
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
      // An unexpired token is kept, as in upstream's token manager.
      if (known !== undefined) return known.token;
      throw new Error(`failed to fetch token: ${(error as Error).message}`, { cause: error });
    }
  }
}

/**
 * A file that only the user whom the pod names may read, if it names one. Upstream:
 * pkg/volume/projected/projected.go, collectData.
 */
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

interface KeySelection {
  readonly items: readonly KeyToPath[] | undefined;
  /** Mode of files without a mode of their own. */
  readonly mode: number;
  readonly optional: boolean | undefined;
  /** Beginning of the message about a missing key. */
  readonly problem: string;
}

function keyed(
  data: ReadonlyMap<string, Buffer>,
  { items, mode, optional, problem }: KeySelection,
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
