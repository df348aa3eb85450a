import type { Kind } from "@dray/api";
import type { GroupResource } from "@dray/api/meta/v1";
import type { StorageVersionMigration } from "@dray/api/storagemigration/v1";
import { type Client, createRestMapper, type DiscoveredKind } from "@dray/client";

export type MigrationKind = Kind<StorageVersionMigration>;

/** Milliseconds for which a resource may be missing: its definition may be as new as the migration. */
export const discoveryTimeout = 60_000;

/** Verbs that a resource needs to be migrated. */
export const requiredVerbs: readonly string[] = ["update", "patch", "list"];

/**
 * Returns the resource in the version that the server prefers; undefined if there is no such resource. Reads
 * discovery anew, since a definition that changes its storage version often changes its versions too. Rejects
 * as requests do.
 */
export async function findResource(
  client: Client,
  { group, resource }: GroupResource,
): Promise<DiscoveredKind | undefined> {
  const kinds = await createRestMapper(client).kinds();
  return kinds.find((kind) => kind.group === group && kind.resource === resource);
}
