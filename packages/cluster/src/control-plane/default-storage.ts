import { StatusError } from "@dray/api";
import { StorageClass } from "@dray/api/storage/v1";
import type { Client } from "@dray/client";
import type { Store } from "@dray/store";

/** Under the prefix of all objects, as that of the release; no object has a key like this. */
const key = "/registry/dray-default-storage-class";

/**
 * Creates the default storage class of a cluster, once: a class that was deleted or changed stays as
 * it is. The store remembers that it was created.
 */
export async function ensureDefaultStorageClass(client: Client, store: Store): Promise<void> {
  if ((await store.get(key)) !== undefined) return;
  const { localPathStorageClass } = await import("@dray/controllers");
  try {
    await client.resource(StorageClass).create(localPathStorageClass);
  } catch (error) {
    if (!StatusError.is(error, "AlreadyExists")) throw error;
  }
  const { name } = localPathStorageClass.metadata;
  await store.txn([{ key, modRevision: 0 }], [{ type: "put", key, value: JSON.stringify({ name }) }]);
}
