import { apiVersionOf, type KubeObject, StatusError } from "@dray/api";
import type { StorageVersionMigration } from "@dray/api/storagemigration/v1";
import { ConnectionError, type DiscoveredKind, type Informer, listAll } from "@dray/client";
import type { ControllerContext } from "../shared/context.ts";
import { refTo } from "../shared/status.ts";
import { isFinished, type MigrationProgress, runningMessage, setConditions } from "./conditions.ts";
import { discoveryTimeout, findResource, type MigrationKind } from "./resource.ts";

const fieldManager = "storage-version-migrator-controller";

/** Statuses after which the migration is tried again: the fault is not the object's. */
const retriableReasons: ReadonlySet<string | undefined> = new Set([
  "InternalError",
  "ServerTimeout",
  "ServiceUnavailable",
  "Timeout",
  "TooManyRequests",
]);

/**
 * Migrates the objects of a resource: each that is not newer than `status.resourceVersion` is patched with
 * nothing but its own uid and resource version, and the API server writes it in the storage version.
 *
 * Unlike upstream, which takes the objects from the cache of the garbage collector, this lists them in pages:
 * it need not wait until that cache has reached the resource version, and resources outside it (events) are
 * migrated too.
 *
 * Upstream: pkg/controller/storageversionmigrator/storageversionmigrator.go.
 */
export class Migration {
  readonly #context: ControllerContext;
  readonly #kind: MigrationKind;
  readonly #migrations: Informer<StorageVersionMigration>;

  constructor(
    context: ControllerContext,
    kind: MigrationKind,
    migrations: Informer<StorageVersionMigration>,
  ) {
    this.#context = context;
    this.#kind = kind;
    this.#migrations = migrations;
  }

  async sync(name: string): Promise<void> {
    const { client, clock } = this.#context;
    const migration = this.#migrations.get({ name });
    const resourceVersion = migration?.status?.resourceVersion;
    if (migration === undefined || isFinished(migration) || !resourceVersion) return;
    const { group, resource } = migration.spec.resource;
    const kind = await findResource(client, migration.spec.resource);
    if (kind === undefined) {
      if (Date.parse(migration.metadata.creationTimestamp) + discoveryTimeout > clock.now())
        throw new Error(`the API server has no resource ${resource} of group ${JSON.stringify(group)} yet`);
      return this.#set(migration, {
        Failed: "migration encountered unhandled error: unable to obtain GVR from discovery",
      });
    }
    await this.#migrate(migration, kind, resourceVersion);
  }

  async #migrate(
    migration: StorageVersionMigration,
    kind: DiscoveredKind,
    resourceVersion: string,
  ): Promise<void> {
    const objects = (await listAll(this.#context.client.resource(kind, { ignoreWarnings: true }))).items;
    const candidates = objects.filter(({ metadata }) => !isNewer(metadata.resourceVersion, resourceVersion));
    const progress: MigrationProgress = { remaining: candidates.length, total: objects.length };
    for (const object of candidates) {
      const error = await this.#patch(kind, object);
      if (error !== undefined && isRetriable(error)) {
        // The patch fails the round, whether this write succeeds or not.
        await this.#set(migration, { Running: runningMessage(progress, error) }).catch(() => {});
        throw error;
      }
      if (error !== undefined)
        return this.#set(migration, {
          Running: runningMessage(progress),
          Failed: `${progress.remaining}/${progress.total} not yet migrated. migration encountered unhandled error: ${error.message}`,
        });
      progress.remaining--;
    }
    await this.#set(migration, { Running: runningMessage(progress), Succeeded: "Migration completed" });
  }

  /**
   * Returns the error, if it matters: an object that was changed, deleted or recreated in the
   * meantime has been written in the storage version, or is gone.
   */
  async #patch(kind: DiscoveredKind, object: KubeObject): Promise<Error | undefined> {
    const { uid, resourceVersion } = object.metadata;
    const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { uid, resourceVersion } };
    try {
      await this.#context.client
        .resource(kind, { ignoreWarnings: true })
        .patch(refTo(object), "merge", body, { fieldManager });
      return undefined;
    } catch (error) {
      if (StatusError.is(error, "Conflict") || StatusError.is(error, "NotFound")) return undefined;
      if (error instanceof Error) return error;
      throw error;
    }
  }

  #set(migration: StorageVersionMigration, messages: Parameters<typeof setConditions>[3]): Promise<void> {
    return setConditions(this.#context, this.#kind, migration, messages);
  }
}

function isRetriable(error: Error): boolean {
  return (
    error instanceof ConnectionError || (error instanceof StatusError && retriableReasons.has(error.reason))
  );
}

/** Revisions compare as integers of any length (KEP-5504, "Comparable Resource Version"). */
function isNewer(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}
