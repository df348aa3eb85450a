import { StatusError } from "@dray/api";
import { CustomResourceDefinition } from "@dray/api/apiextensions/v1";
import type { Condition, GroupResource } from "@dray/api/meta/v1";
import type { StorageVersionMigration } from "@dray/api/storagemigration/v1";
import { type Informer, timeText } from "@dray/client";
import type { ControllerContext } from "../shared/context.ts";
import { withCondition, writeStatus } from "../shared/status.ts";
import { hasCondition, isFinished, runningMessage, setConditions } from "./conditions.ts";
import type { MigrationKind } from "./resource.ts";

const fieldManager = "migration-runner-controller";

/** The queue key of a resource. */
export function resourceKey({ group, resource }: GroupResource): string {
  return `${resource}.${group}`;
}

/**
 * Runs one migration of a resource at a time, the oldest first: condition Running says which. While it runs,
 * the CustomResourceDefinition has condition StorageMigrating; afterwards its `status.storedVersions` has the
 * storage version alone.
 *
 * Upstream: pkg/controller/storageversionmigrator/migrationrunner.go.
 */
export class MigrationRunner {
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

  /** Ends the finished migrations of the resource with this key and starts the next. */
  async sync(key: string): Promise<void> {
    const migrations = this.#migrations.list().filter(({ spec }) => resourceKey(spec.resource) === key);
    const running = migrations.filter((migration) => hasCondition(migration, "Running"));
    for (const migration of running) if (isFinished(migration)) await this.#end(migration);
    if (running.some((migration) => !isFinished(migration))) return;
    const next = migrations
      .filter((migration) => !hasCondition(migration, "Running") && !isFinished(migration))
      .sort(byAge)[0];
    if (next !== undefined) await this.#begin(next);
  }

  async #begin(migration: StorageVersionMigration): Promise<void> {
    const { name } = migration.metadata;
    const definition = await this.#definitionOf(migration);
    if (definition !== undefined)
      await this.#applyStatus(definition, {
        status: "True",
        reason: "MigrationRunning",
        message: `Migration ${name} is running`,
      });
    await setConditions(this.#context, this.#kind, migration, { Running: runningMessage() });
  }

  async #end(migration: StorageVersionMigration): Promise<void> {
    const definition = await this.#definitionOf(migration);
    if (definition !== undefined) await this.#endMigrating(definition, hasCondition(migration, "Succeeded"));
    const now = timeText(this.#context.clock.now());
    const running = {
      type: "Running",
      status: "False",
      reason: "MigrationCompleted",
      message: "Migration completed",
      observedGeneration: migration.metadata.generation ?? 0,
      lastTransitionTime: now,
    };
    const conditions = withCondition<Condition>(migration.status?.conditions, running, now);
    await writeStatus(this.#context.client, this.#kind, migration, { ...migration.status, conditions });
  }

  /**
   * Upstream trims the stored versions after a failure too, although objects are left in the old version:
   * then the version could be removed from the definition, and they could not be read any more. Here they
   * stay.
   */
  async #endMigrating(definition: CustomResourceDefinition, succeeded: boolean): Promise<void> {
    const { metadata, spec, status } = definition;
    const migrating = status?.conditions?.find(({ type }) => type === "StorageMigrating");
    const isUnchanged = migrating?.observedGeneration === metadata.generation;
    const storage = (spec.versions ?? []).find((version) => version.storage)?.name;
    const outcome = isUnchanged
      ? "and the stored versions have been updated"
      : "but the stored versions have not been updated due to a generation mismatch";
    await this.#applyStatus(
      definition,
      succeeded
        ? {
            status: "False",
            reason: "MigrationSucceeded",
            message: `The migration has succeeded ${outcome}`,
          }
        : { status: "False", reason: "MigrationFailed", message: "The migration has failed" },
      succeeded && isUnchanged && storage !== undefined ? [storage] : undefined,
    );
  }

  /**
   * Rejects with a conflict if the definition has changed since it was read: its generation is part of the
   * condition.
   */
  async #applyStatus(
    { metadata }: CustomResourceDefinition,
    condition: { readonly status: string; readonly reason: string; readonly message: string },
    storedVersions?: readonly string[],
  ): Promise<void> {
    const { name, resourceVersion, generation } = metadata;
    const migrating = {
      type: "StorageMigrating",
      ...condition,
      lastTransitionTime: timeText(this.#context.clock.now()),
      observedGeneration: generation ?? 0,
    };
    await this.#context.client.resource(CustomResourceDefinition).apply(
      {
        metadata: { name, resourceVersion },
        status: { conditions: [migrating], ...(storedVersions === undefined ? {} : { storedVersions }) },
      },
      { fieldManager, force: true, subresource: "status" },
    );
  }

  /** The definition of the resource, if it is a custom one. */
  async #definitionOf({ spec }: StorageVersionMigration): Promise<CustomResourceDefinition | undefined> {
    if (spec.resource.group === "") return undefined;
    try {
      return await this.#context.client
        .resource(CustomResourceDefinition)
        .get({ name: resourceKey(spec.resource) });
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return undefined;
      throw error;
    }
  }
}

function byAge({ metadata: a }: StorageVersionMigration, { metadata: b }: StorageVersionMigration): number {
  return (
    Date.parse(a.creationTimestamp) - Date.parse(b.creationTimestamp) ||
    (a.name < b.name ? -1 : Number(a.name > b.name))
  );
}
