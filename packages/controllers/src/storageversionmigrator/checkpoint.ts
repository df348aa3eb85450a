import type { StorageVersionMigration } from "@dray/api/storagemigration/v1";
import type { DiscoveredKind, Informer } from "@dray/client";
import type { ControllerContext } from "../shared/context.ts";
import { writeStatus } from "../shared/status.ts";
import { hasCondition, isFinished, setConditions } from "./conditions.ts";
import { discoveryTimeout, findResource, type MigrationKind, requiredVerbs } from "./resource.ts";

/** Not a legal name of a namespace, so that a list of it is empty. Upstream: fakeSVMNamespaceName. */
const missingNamespace = "@fake:svm_ns!";

/**
 * Writes `status.resourceVersion` of a running migration: objects written after it are in the new storage
 * version already. Fails migrations of resources that are missing or lack a verb.
 *
 * Upstream: pkg/controller/storageversionmigrator/resourceversion.go.
 */
export class Checkpoint {
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
    if (migration === undefined || !hasCondition(migration, "Running") || isFinished(migration)) return;
    if (migration.status?.resourceVersion) return;
    const { group, resource } = migration.spec.resource;
    const found = await findResource(client, migration.spec.resource);
    if (found === undefined) {
      if (Date.parse(migration.metadata.creationTimestamp) + discoveryTimeout > clock.now())
        throw new Error(`the API server has no resource ${resource} of group ${JSON.stringify(group)} yet`);
      return this.#fail(migration, "resource does not exist in discovery");
    }
    if (!requiredVerbs.every((verb) => found.verbs.includes(verb)))
      return this.#fail(
        migration,
        `resource "${group}/${found.version}, Resource=${resource}" does not support discovery operations: [${requiredVerbs.join(" ")}]`,
      );
    const resourceVersion = await this.#latestResourceVersion(found);
    if (!/^[1-9]\d*$/.test(resourceVersion))
      return this.#fail(
        migration,
        `latest resourceVersion for ${group}/${found.version}, Resource=${resource} is not valid: resource version is not well formed: ${resourceVersion}`,
      );
    await writeStatus(client, this.#kind, migration, { ...migration.status, resourceVersion });
  }

  async #latestResourceVersion(kind: DiscoveredKind): Promise<string> {
    const list = await this.#context.client
      .resource(kind, { ignoreWarnings: true })
      .list({ limit: 1, ...(kind.namespaced ? { namespace: missingNamespace } : {}) });
    return list.resourceVersion;
  }

  #fail(migration: StorageVersionMigration, message: string): Promise<void> {
    return setConditions(this.#context, this.#kind, migration, { Failed: message });
  }
}
