import type { StorageVersionMigration } from "@dray/api/storagemigration/v1";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { servedKind } from "../shared/served-kinds.ts";
import type { ServedResources } from "../shared/served-resources.ts";
import { Checkpoint } from "./checkpoint.ts";
import { MigrationRunner, resourceKey } from "./migration-runner.ts";
import { Migration } from "./migrator.ts";

/**
 * Rewrites the objects of a resource in its storage version for each
 * StorageVersionMigration (KEP-4192). Does nothing on a server without that kind or with feature gate
 * StorageVersionMigrator off.
 *
 * Upstream: pkg/controller/storageversionmigrator.
 */
export async function startStorageVersionMigrator(
  context: ControllerContext,
  served: Pick<ServedResources, "list">,
): Promise<Controller> {
  const queues = controllerQueues(context);
  if (!context.features.enabled("StorageVersionMigrator")) return queues.controller;
  const kind = servedKind<StorageVersionMigration>(
    served,
    "storagemigration.k8s.io",
    "storageversionmigrations",
  );
  if (kind === undefined) return queues.controller;
  const migrations = context.informers.of(kind);
  await synced(context, [migrations]);

  const runner = new MigrationRunner(context, kind, migrations);
  const checkpoint = new Checkpoint(context, kind, migrations);
  const migration = new Migration(context, kind, migrations);
  const resources = queues.queue("migration-runner-controller", (key) => runner.sync(key), 1);
  const checkpoints = queues.queue("resource-version-controller", (name) => checkpoint.sync(name), 1);
  const queue = queues.queue("storage-version-migrator-controller", (name) => migration.sync(name));
  const changed = ({ metadata, spec }: StorageVersionMigration): void => {
    resources.add(resourceKey(spec.resource));
    checkpoints.add(metadata.name);
    queue.add(metadata.name);
  };
  migrations.handle({
    add: changed,
    update: changed,
    delete: ({ spec }) => resources.add(resourceKey(spec.resource)),
  });
  return queues.controller;
}
