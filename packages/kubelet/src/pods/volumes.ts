import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  // biome-ignore lint/style/noRestrictedImports: it exchanges a symbolic link, not a file.
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, normalize } from "node:path";
import { StatusError } from "@dray/api";
import type { TokenRequest } from "@dray/api/authentication/v1";
import {
  ConfigMap,
  type DownwardAPIVolumeFile,
  type HostPathVolumeSource,
  type KeyToPath,
  type Node,
  type Pod,
  Secret,
  ServiceAccount,
  type ServiceAccountTokenProjection,
  type Volume,
  type VolumeProjection,
} from "@dray/api/core/v1";
import type { Client, Clock } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import type { NodePaths } from "../paths.ts";
import { fieldValue, resourceValue } from "./environment.ts";

export interface VolumesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly paths: NodePaths;
  readonly nodeAddress: string;
  node(): Node;
}

/** A volume could not be set up; the message is that of the FailedMount event. */
export class VolumeError extends Error {
  override readonly name = "VolumeError";
}

interface File {
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
}

interface Token {
  readonly token: string;
  /** When a new one is due: after 80% of its life, or a day. */
  readonly refreshAt: number;
}

/** The volumes of pods as folders below the node's kubelet directory. */
export class Volumes {
  readonly #options: VolumesOptions;
  readonly #tokens = new Map<string, Token>();

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  /** The directory that holds what a pod has on this node. */
  podDirectory(uid: string): string {
    return join(this.#options.paths.pods, uid);
  }

  /**
   * Makes every volume that is used, or brings it up to date: answers their places on the machine by name. Rejects
   * with `VolumeError`.
   */
  async setUp(pod: Pod): Promise<ReadonlyMap<string, string>> {
    const places = new Map<string, string>();
    await Promise.all(
      (pod.spec.volumes ?? []).map(async (volume) => {
        try {
          places.set(volume.name, await this.#setUp(pod, volume));
        } catch (error) {
          throw new VolumeError(
            `MountVolume.SetUp failed for volume "${volume.name}" : ${(error as Error).message}`,
            { cause: error },
          );
        }
      }),
    );
    return places;
  }

  /** Milliseconds until a token of the pod is due for renewal; undefined where it has none. */
  refreshIn(pod: Pod): number | undefined {
    const times = [...this.#tokens]
      .filter(([key]) => key.startsWith(`${pod.metadata.uid}\0`))
      .map(([, { refreshAt }]) => refreshAt);
    return times.length === 0
      ? undefined
      : Math.max(0, times.reduce((a, b) => Math.min(a, b)) - this.#options.clock.now());
  }

  /** Removes everything that the pod has on disk but its logs. */
  tearDown(uid: string): void {
    for (const key of this.#tokens.keys()) if (key.startsWith(`${uid}\0`)) this.#tokens.delete(key);
    rmSync(this.podDirectory(uid), { recursive: true, force: true });
  }

  async #setUp(pod: Pod, volume: Volume): Promise<string> {
    const folder = (kind: string): string =>
      join(this.podDirectory(pod.metadata.uid), "volumes", `kubernetes.io~${kind}`, volume.name);
    const { emptyDir, hostPath, configMap, secret, downwardAPI, projected } = volume;
    if (hostPath !== undefined) return this.#hostPath(hostPath);
    if (emptyDir !== undefined) {
      const path = folder("empty-dir");
      if (!existsSync(path)) {
        makeFolderSync(path);
        chmodSync(path, 0o777);
      }
      return path;
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
        `volumes of type ${type} are not supported on this node; supported are emptyDir, hostPath, configMap, secret, downwardAPI and projected`,
      );
    }
    const files: File[] = [];
    for (const source of sources)
      for (const each of await this.#files(pod, volume.name, source, mode)) files.push(each);
    const path = folder(kind);
    writeFiles(path, files);
    return path;
  }

  #hostPath({ path, type = "" }: HostPathVolumeSource): string {
    const { paths } = this.#options;
    const place = paths.onMachine(path);
    const own = place === paths.root || place.startsWith(`${paths.root}/`);
    const stat = statSync(place, { throwIfNoEntry: false });
    if (stat === undefined) {
      // Nothing is created on the machine outside the node's root; `onMachine` chose the root for what is missing.
      if (!own || !["", "DirectoryOrCreate", "FileOrCreate"].includes(type))
        throw new Error(`hostPath type check failed: ${path} is not ${typeNames[type] ?? "there"}`);
      if (type === "FileOrCreate") {
        makeFolderSync(dirname(place), 0o755);
        writeFileSync(place, "", { mode: 0o644 });
      } else makeFolderSync(place, 0o755);
      return place;
    }
    const fits: Record<string, boolean> = {
      "": true,
      DirectoryOrCreate: stat.isDirectory(),
      Directory: stat.isDirectory(),
      FileOrCreate: stat.isFile(),
      File: stat.isFile(),
      Socket: stat.isSocket(),
      CharDevice: stat.isCharacterDevice(),
      BlockDevice: stat.isBlockDevice(),
    };
    if (fits[type] !== true)
      throw new Error(`hostPath type check failed: ${path} is not ${typeNames[type] ?? `a ${type}`}`);
    return place;
  }

  async #files(pod: Pod, volume: string, source: VolumeProjection, mode: number): Promise<File[]> {
    const { namespace } = pod.metadata;
    if (source.configMap !== undefined) {
      const { name = "", items, optional } = source.configMap;
      const found = await orMissing(`configmap "${name}" not found`, optional, () =>
        this.#options.client.resource(ConfigMap).get({ namespace, name }),
      );
      const data = new Map<string, Buffer>();
      for (const [key, value] of Object.entries(found?.data ?? {})) data.set(key, Buffer.from(value));
      for (const [key, value] of Object.entries(found?.binaryData ?? {}))
        data.set(key, Buffer.from(value as string, "base64"));
      return keyed(data, items, mode, optional || found === undefined);
    }
    if (source.secret !== undefined) {
      const { name = "", items, optional } = source.secret;
      const found = await orMissing(`secret "${name}" not found`, optional, () =>
        this.#options.client.resource(Secret).get({ namespace, name }),
      );
      const data = new Map<string, Buffer>();
      for (const [key, value] of Object.entries(found?.data ?? {}))
        data.set(key, Buffer.from(value as string, "base64"));
      return keyed(data, items, mode, optional || found === undefined);
    }
    if (source.downwardAPI !== undefined)
      return (source.downwardAPI.items ?? []).map((item) => this.#downward(pod, item, mode));
    if (source.serviceAccountToken !== undefined) {
      const content = await this.#token(pod, volume, source.serviceAccountToken);
      return [{ path: source.serviceAccountToken.path, content: Buffer.from(content), mode }];
    }
    throw new Error(`projected source ${Object.keys(source).join()} is not supported on this node`);
  }

  #downward(pod: Pod, item: DownwardAPIVolumeFile, mode: number): File {
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

const typeNames: Record<string, string> = {
  Directory: "a directory",
  DirectoryOrCreate: "a directory",
  File: "a file",
  FileOrCreate: "a file",
  Socket: "a socket file",
  CharDevice: "a character device",
  BlockDevice: "a block device",
};

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
): File[] {
  if (items === undefined || items.length === 0)
    return [...data].map(([path, content]) => ({ path, content, mode }));
  const files: File[] = [];
  for (const { key, path, mode: own } of items) {
    const content = data.get(key);
    if (content !== undefined) files.push({ path, content, mode: own ?? mode });
    else if (!optional) throw new Error(`references non-existent config key: ${key}`);
  }
  return files;
}

/**
 * Writes files so that readers see all of them change at once: they stand in a folder of their own, to which
 * `..data` points, and the visible names are links through it.
 */
function writeFiles(directory: string, files: readonly File[]): void {
  for (const { path } of files)
    if (normalize(path) !== path || path.startsWith("/") || path.split("/").includes(".."))
      throw new Error(`path ${JSON.stringify(path)} must be relative and must not contain ".."`);
  makeFolderSync(directory, 0o755);
  const link = join(directory, "..data");
  const current = lstatSync(link, { throwIfNoEntry: false }) ? readlinkSync(link) : undefined;
  if (current !== undefined && same(join(directory, current), files)) return;
  const generation = current === undefined ? 1 : Number(current.replace("..", "")) + 1;
  const next = join(directory, `..${generation}`);
  // What a killed agent had begun.
  rmSync(next, { recursive: true, force: true });
  mkdirSync(next, { mode: 0o755 });
  for (const { path, content, mode } of files) {
    const file = join(next, path);
    makeFolderSync(dirname(file), 0o755);
    writeFileSync(file, content);
    chmodSync(file, mode);
  }
  const temporary = join(directory, "..data_tmp");
  rmSync(temporary, { force: true });
  symlinkSync(`..${generation}`, temporary);
  renameSync(temporary, link);
  const names = new Set(files.map(({ path }) => path.split("/")[0] ?? path));
  for (const name of names)
    if (lstatSync(join(directory, name), { throwIfNoEntry: false }) === undefined)
      symlinkSync(join("..data", name), join(directory, name));
  for (const name of readdirSync(directory))
    if (!name.startsWith("..") && !names.has(name)) rmSync(join(directory, name));
  if (current !== undefined) rmSync(join(directory, current), { recursive: true, force: true });
}

function same(directory: string, files: readonly File[]): boolean {
  if (!existsSync(directory)) return false;
  const there = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(
    (e) => !e.isDirectory(),
  );
  return (
    there.length === files.length &&
    files.every(({ path, content }) => {
      const file = join(directory, path);
      const stat = lstatSync(file, { throwIfNoEntry: false });
      // Without mount name spaces the pod can write here: what it made of a file may be a pipe.
      return stat?.isFile() && stat.size === content.length && readFileSync(file).equals(content);
    })
  );
}
