import { minorOf } from "@dray/api";
import type { Store } from "@dray/store";

/**
 * Under the prefix of all objects, so that what deletes them deletes it too; no object has a key like this.
 */
const key = "/registry/dray-version";

/** How objects are stored. Counts up when an older Dray would read them wrongly. */
export const storeFormat = 1;

/** Version record of a store. */
interface StoreRecord {
  readonly format: number;
  /** The newest release that has worked on the objects. */
  readonly kubernetesVersion: string;
}

/**
 * Throws an error that says what to do if the objects were written by a newer Dray, or as those of a newer
 * release: an older one drops fields that it does not know, and does not find kinds that it does not serve.
 */
export async function checkStoreVersion(store: Store, kubernetesVersion: string): Promise<void> {
  const { record } = await read(store);
  if (record === undefined) return;
  if (record.format > storeFormat) {
    throw new Error(
      `the objects in the store ${store.name} were written by a newer Dray (format ${record.format}; this one knows ${storeFormat}): use that Dray, or another store or cluster (--store, --name, --data-dir)`,
    );
  }
  if (minorOf(record.kubernetesVersion) > minorOf(kubernetesVersion)) {
    throw new Error(
      `the objects in the store ${store.name} are those of Kubernetes ${record.kubernetesVersion}, and ${kubernetesVersion} cannot read all of them: use --kubernetes-version ${record.kubernetesVersion}, another cluster (--name or --data-dir), or delete the data first (\`dray down --delete-data\` with the --name or --data-dir of this cluster)`,
    );
  }
}

/** Throws if the store is empty, though a cluster has kept its objects there. `dataDir` is the cluster's. */
export async function checkStoreIsThere(store: Store, dataDir: string): Promise<void> {
  const { record } = await read(store);
  if (record === undefined && (await store.count("/registry/")) === 0) throw lostStore(store.name, dataDir);
}

/** Records the release in a store that has no such record yet. */
export async function recordNewStore(store: Store, kubernetesVersion: string): Promise<void> {
  const { record } = await read(store);
  if (record === undefined) await recordStoreVersion(store, kubernetesVersion);
}

export function lostStore(name: string, dataDir: string): Error {
  return new Error(
    `the store ${name} is empty or missing, but ${dataDir} has the certificates and settings of a cluster whose objects were there: put the store back from a copy, or delete the data for a new cluster (\`dray down --delete-data\` with the --name or --data-dir of this cluster)`,
  );
}

/**
 * Records the release that works on the objects from now on. Returns the older one that did so before, if
 * there was one.
 */
export async function recordStoreVersion(
  store: Store,
  kubernetesVersion: string,
): Promise<string | undefined> {
  const { record, revision } = await read(store);
  const before = record?.kubernetesVersion;
  if (before === kubernetesVersion && record?.format === storeFormat) return undefined;
  const value: StoreRecord = { format: storeFormat, kubernetesVersion };
  await store.txn([{ key, modRevision: revision }], [{ type: "put", key, value: JSON.stringify(value) }]);
  return before;
}

async function read(store: Store): Promise<{ record?: StoreRecord; revision: number }> {
  const entry = await store.get(key);
  if (entry === undefined) return { revision: 0 };
  try {
    // Written by this program.
    const record = JSON.parse(entry.value) as Partial<StoreRecord> | null;
    const { format, kubernetesVersion } = record ?? {};
    if (typeof format === "number" && typeof kubernetesVersion === "string")
      return { record: { format, kubernetesVersion }, revision: entry.modRevision };
  } catch {
    // It is written anew.
  }
  return { revision: entry.modRevision };
}
