import { type Kind, type KubeObject, StatusError } from "@dray/api";
import { kindOf } from "@dray/api/codec";
import { Event, PersistentVolume, PersistentVolumeClaim, ResourceQuota } from "@dray/api/core/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment } from "@dray/api/storage/v1";
import { listAll } from "@dray/client";
import type { Connection } from "../connection/connect.ts";
import type { MissingRight } from "../manifests/live.ts";
import { resourceOf } from "../observe/rights.ts";

/** Data of a cluster about an object that scheduling does not read. Empty for manifests. */
export interface Surroundings {
  /** False: manifests, on which no controller has acted. */
  readonly isLive: boolean;
  /** Events about the object, the newest first. */
  readonly events: readonly Event[];
  /** The objects of storage; absent: they were not read. */
  readonly storage?: readonly KubeObject[];
  readonly podGroups: readonly PodGroup[];
  /** False: the server was asked, and serves PodGroups in no version: no pod waits for one. */
  readonly servesPodGroups: boolean;
  readonly quotas: readonly ResourceQuota[];
  readonly missing: readonly MissingRight[];
}

export const noSurroundings: Surroundings = {
  isLive: false,
  events: [],
  podGroups: [],
  servesPodGroups: true,
  quotas: [],
  missing: [],
};

/** Selects the events to read; other objects are read only if needed. */
export interface Wanted {
  readonly kind: string;
  /** Undefined: all objects of the kind. */
  readonly name: string | undefined;
  /** Undefined: not namespaced, with events in `default`; of all objects, those of all namespaces. */
  readonly namespace: string | undefined;
  readonly podGroups: boolean;
  readonly quotas: boolean;
  readonly storage: boolean;
}

/** Kinds of storage, as schedulers read them. */
export const storageKinds = [
  PersistentVolumeClaim,
  PersistentVolume,
  StorageClass,
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  VolumeAttachment,
] as const;

/** The versions of pod groups, the newest first: all have the fields that are read here. */
const groupVersions = ["v1beta1", "v1alpha3", "v1alpha2"];

export async function readSurroundings(connection: Connection, wanted: Wanted): Promise<Surroundings> {
  const { client } = connection;
  const missing: MissingRight[] = [];
  const namespace = wanted.namespace ?? (wanted.name === undefined ? undefined : "default");
  const where = namespace === undefined ? {} : { namespace };
  let servesPodGroups = true;
  async function read<T extends KubeObject>(kind: string, list: () => Promise<readonly T[]>): Promise<T[]> {
    try {
      return [...(await list())];
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return [];
      if (!StatusError.is(error, "Forbidden")) throw error;
      missing.push({ verb: "list", resource: resourceOf(kind), kind });
      return [];
    }
  }
  const named = wanted.name === undefined ? "" : `,involvedObject.name=${wanted.name}`;
  const fieldSelector = `involvedObject.kind=${wanted.kind}${named}`;
  const [events, quotas, podGroups, storage] = await Promise.all([
    read("Event", async () => (await listAll(client.resource(Event), { ...where, fieldSelector })).items),
    wanted.quotas
      ? read("ResourceQuota", async () => (await listAll(client.resource(ResourceQuota), where)).items)
      : [],
    wanted.podGroups ? readGroups() : [],
    wanted.storage ? readStorage() : undefined,
  ]);
  return {
    isLive: true,
    events: events.toSorted((a, b) => timeOf(b) - timeOf(a)),
    ...(storage !== undefined && { storage }),
    quotas,
    podGroups,
    servesPodGroups,
    missing,
  };

  /** Volumes count only if all of their kinds can be read. */
  async function readStorage(): Promise<readonly KubeObject[] | undefined> {
    const before = missing.length;
    const all = await Promise.all(
      storageKinds.map((row) =>
        read(row.kind, async () => (await listAll(client.resource(row as Kind), {})).items),
      ),
    );
    return missing.length === before ? all.flat() : undefined;
  }

  async function readGroups(): Promise<PodGroup[]> {
    servesPodGroups = false;
    for (const version of groupVersions) {
      const row = kindOf("scheduling.k8s.io", version, "PodGroup");
      if (row === undefined) continue;
      const found = await read("PodGroup", async () => {
        const { items } = await listAll(client.resource(row), where);
        servesPodGroups = true;
        // The kind is the PodGroup of its version: the fields that are read are the same in all.
        return items as unknown as PodGroup[];
      });
      if (found.length > 0) return found;
    }
    return [];
  }
}

/** Returns the time of the last occurrence, in milliseconds. */
function timeOf(event: Event): number {
  const text = event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime;
  return Date.parse(String(text ?? event.metadata.creationTimestamp)) || 0;
}

export const sinceOf = (event: Event): string => new Date(timeOf(event)).toISOString();
