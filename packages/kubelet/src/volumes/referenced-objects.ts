import { type Kind, StatusError } from "@dray/api";
import type { ConfigMap, KeyToPath, Pod, Secret } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import type { VolumeFile } from "./volume-files.ts";

/** Interval in milliseconds at which config maps and secrets are read. Upstream: `--sync-frequency`. */
export const objectRefreshInterval = 60_000;

interface ObjectReference<T extends ConfigMap | Secret> {
  readonly pod: Pod;
  readonly kind: Kind<T>;
  readonly name: string;
  /** The error for an object that does not exist. */
  readonly missing: string;
  readonly optional: boolean | undefined;
}

/** Config maps and secrets of volumes. Immutable ones are read once for a pod. */
export class ReferencedObjects {
  readonly #client: Client;
  /** By UID of the pod, kind and name. */
  readonly #immutable = new Map<string, ConfigMap | Secret>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Resolves with undefined for an object that is missing and optional. */
  async get<T extends ConfigMap | Secret>(reference: ObjectReference<T>): Promise<T | undefined> {
    const { pod, kind, name, missing, optional } = reference;
    const { namespace, uid } = pod.metadata;
    const key = [uid, kind.kind, name].join("\0");
    const known = this.#immutable.get(key);
    if (known !== undefined) return known as T;
    try {
      const found = await this.#client.resource(kind).get({ namespace, name });
      if (found.immutable) this.#immutable.set(key, found);
      return found;
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
      if (optional) return undefined;
      throw new Error(missing, { cause: error });
    }
  }

  forget(podUid: string): void {
    for (const key of this.#immutable.keys()) if (key.startsWith(`${podUid}\0`)) this.#immutable.delete(key);
  }
}

interface KeySelection {
  readonly items: readonly KeyToPath[] | undefined;
  readonly optional: boolean | undefined;
  /** Mode of files without a mode of their own. */
  readonly mode: number;
  /** Beginning of the message about a missing key. */
  readonly problem: string;
}

/** Returns the files of the selected keys of an object; those of all keys without `items`. */
export function filesOfKeys(
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
