import assert from "node:assert/strict";
import { test } from "node:test";
import { type Kind, StatusError } from "@dray/api";
import { CustomResourceDefinition } from "@dray/api/apiextensions/v1";
import { ConfigMap } from "@dray/api/core/v1";
import { StorageVersionMigration } from "@dray/api/storagemigration/v1";
import type { Client } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  servedResources,
  startStorageVersionMigrator,
} from "@dray/controllers";
import { memoryStore } from "@dray/store";
import { fakeClock } from "@dray/testing/clock";
import { killedAtEveryWrite, type TestCluster, withCluster } from "../testing/cluster.ts";

const start = async (context: ControllerContext): Promise<Controller> =>
  startStorageVersionMigrator(context, await servedResources(context));

const migrating = (test: (cluster: TestCluster) => Promise<void>): Promise<void> => withCluster(start, test);

const gadgets = "gadgets.example.com";
const kindOf = (version: string): Kind => ({
  group: "example.com",
  version,
  kind: "Gadget",
  resource: "gadgets",
  namespaced: true,
});

const versions = (storage: string): object[] =>
  ["v1", "v2"].map((name) => ({
    name,
    served: true,
    storage: name === storage,
    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
  }));

/** Defines gadgets, stored as v1. */
async function define(cluster: TestCluster): Promise<void> {
  await cluster.create(CustomResourceDefinition, {
    metadata: { name: gadgets },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "gadgets", kind: "Gadget" },
      versions: versions("v1"),
    },
  });
  await cluster.until("established", async () =>
    (await definition(cluster)).status?.conditions?.some(
      ({ type, status }) => type === "Established" && status === "True",
    ),
  );
}

const definition = (cluster: TestCluster): Promise<CustomResourceDefinition> =>
  cluster.get(CustomResourceDefinition, gadgets);

/** Makes v2 the storage version. */
async function changeStorage(cluster: TestCluster): Promise<void> {
  await cluster.client
    .resource(CustomResourceDefinition)
    .patch({ name: gadgets }, "merge", { spec: { versions: versions("v2") } });
  await cluster.settle();
}

const migrate = (
  cluster: TestCluster,
  name: string,
  group = "example.com",
  resource = "gadgets",
): Promise<unknown> =>
  cluster.create(StorageVersionMigration, { metadata: { name }, spec: { resource: { group, resource } } });

/** Waits for the condition, and for the end of Running. Returns the migration. */
function ended(cluster: TestCluster, name: string, type: string): Promise<StorageVersionMigration> {
  return cluster.until(`${name} ${type}`, async () => {
    const migration = await cluster.get(StorageVersionMigration, name);
    const conditions = texts(migration);
    return (
      conditions.some((text) => text.startsWith(`${type}=True`)) &&
      !conditions.some((text) => text.startsWith("Running=True")) &&
      migration
    );
  });
}

/** `type=status reason: message` */
function texts({ status }: { status?: { conditions?: readonly object[] } }): string[] {
  return (
    (status?.conditions ?? []) as { type: string; status?: string; reason?: string; message?: string }[]
  ).map(({ type, status: state, reason, message }) => `${type}=${state} ${reason}: ${message}`);
}

const storageMigrating = async (cluster: TestCluster): Promise<string[]> =>
  texts((await definition(cluster)) as object).filter((text) => text.startsWith("StorageMigrating"));

/** A context in which each patch of a gadget calls this first. */
function patching(context: ControllerContext, before: (name: string) => Promise<void>): ControllerContext {
  const client: Client = {
    ...context.client,
    resource(kind, options) {
      const resource = context.client.resource(kind, options);
      if (kind.resource !== "gadgets") return resource;
      return {
        ...resource,
        async patch(ref, ...rest) {
          await before(ref.name);
          return resource.patch(ref, ...rest);
        },
      };
    },
  };
  return { ...context, client };
}

test("a custom resource whose storage version changed: its objects are written anew, the old version goes", async () => {
  const store = memoryStore(fakeClock());
  const stored = async (): Promise<string[]> =>
    (await store.list(`/registry/${gadgets}/`)).entries.map(({ value }) => JSON.parse(value).apiVersion);
  await withCluster(
    start,
    async (cluster) => {
      await define(cluster);
      for (const name of ["a", "b"]) await cluster.create(kindOf("v1"), { metadata: { name }, size: 3 });
      await changeStorage(cluster);
      assert.deepEqual(await stored(), ["example.com/v1", "example.com/v1"]);
      assert.deepEqual((await definition(cluster)).status?.storedVersions, ["v1", "v2"]);
      await migrate(cluster, "m");
      const migration = await ended(cluster, "m", "Succeeded");
      assert.match(migration.status?.resourceVersion ?? "", /^[1-9]\d*$/);
      assert.deepEqual(texts(migration), [
        "Succeeded=True StorageVersionMigrationSucceeded: Migration completed",
        "Running=False MigrationCompleted: Migration completed",
      ]);
      assert.deepEqual(await stored(), ["example.com/v2", "example.com/v2"]);
      assert.equal(((await cluster.get(kindOf("v1"), "a")) as unknown as { size: number }).size, 3);
      assert.deepEqual((await definition(cluster)).status?.storedVersions, ["v2"]);
      assert.deepEqual(await storageMigrating(cluster), [
        "StorageMigrating=False MigrationSucceeded: The migration has succeeded and the stored versions have been updated",
      ]);
    },
    { store },
  );
});

test("a built-in resource without objects, and one with objects that are in their version already", () =>
  migrating(async (cluster) => {
    await cluster.create(ConfigMap, { metadata: { name: "map" }, data: { a: "b" } });
    const before = await cluster.get(ConfigMap, "map");
    await migrate(cluster, "maps", "", "configmaps");
    await migrate(cluster, "jobs", "batch", "jobs");
    await ended(cluster, "maps", "Succeeded");
    await ended(cluster, "jobs", "Succeeded");
    assert.deepEqual(await cluster.get(ConfigMap, "map"), before, "nothing was written");
  }));

test("one migration of a resource runs at a time, the oldest first", () =>
  withCluster(
    async (context) =>
      start(
        patching(context, async (name) => {
          if (name === "a") throw StatusError.of("TooManyRequests", "slow down");
        }),
      ),
    async (cluster) => {
      await define(cluster);
      await cluster.create(kindOf("v1"), { metadata: { name: "a" } });
      await changeStorage(cluster);
      await migrate(cluster, "first");
      const running = await cluster.until("running", async () => {
        const conditions = texts(await cluster.get(StorageVersionMigration, "first"));
        return conditions.some((text) => text.includes("transient")) && conditions;
      });
      assert.deepEqual(running, [
        "Running=True MigrationRunning: The migration is running, 1/1 objects not yet migrated; transient error: slow down",
      ]);
      assert.deepEqual(await storageMigrating(cluster), [
        "StorageMigrating=True MigrationRunning: Migration first is running",
      ]);
      cluster.clock.advance(1000);
      await migrate(cluster, "second");
      await migrate(cluster, "other", "batch", "jobs");
      await ended(cluster, "other", "Succeeded");
      assert.deepEqual(texts(await cluster.get(StorageVersionMigration, "second")), []);
      // Its failures are logged as warnings after a while.
      cluster.problems.length = 0;
    },
  ));

test("objects that have changed, are gone or were made anew in the meantime need no patch", () => {
  let admin: Client | undefined;
  const change = async (name: string): Promise<void> => {
    const resource = admin!.resource(kindOf("v1"));
    const ref = { namespace: "d", name };
    if (name === "changed") await resource.patch(ref, "merge", { size: 4 });
    else await resource.delete(ref);
    if (name === "anew") await resource.create({ metadata: ref });
  };
  return withCluster(
    (context) => start(patching(context, change)),
    async (cluster) => {
      admin = cluster.client;
      await define(cluster);
      const names = ["anew", "changed", "gone"];
      for (const name of names) await cluster.create(kindOf("v1"), { metadata: { name } });
      await changeStorage(cluster);
      await migrate(cluster, "m");
      const migration = await ended(cluster, "m", "Succeeded");
      assert.equal(migration.status?.conditions?.length, 2);
      assert.equal(await cluster.find(kindOf("v1"), "gone"), undefined);
    },
  );
});

test("an object that cannot be written fails the migration, and the stored versions stay", () =>
  withCluster(
    async (context) =>
      start(
        patching(context, async (name) => {
          if (name === "b") throw StatusError.of("Invalid", "spec.size: Required value");
        }),
      ),
    async (cluster) => {
      await define(cluster);
      for (const name of ["a", "b", "c"]) await cluster.create(kindOf("v1"), { metadata: { name } });
      await changeStorage(cluster);
      await migrate(cluster, "m");
      assert.deepEqual(texts(await ended(cluster, "m", "Failed")), [
        "Failed=True StorageVersionMigrationFailed: 2/3 not yet migrated. migration encountered unhandled error: spec.size: Required value",
        "Running=False MigrationCompleted: Migration completed",
      ]);
      assert.deepEqual((await definition(cluster)).status?.storedVersions, ["v1", "v2"]);
      assert.deepEqual(await storageMigrating(cluster), [
        "StorageMigrating=False MigrationFailed: The migration has failed",
      ]);
    },
  ));

test("a definition that changes during its migration keeps its stored versions", () =>
  withCluster(
    async (context) =>
      start(
        patching(context, async () => {
          await context.client
            .resource(CustomResourceDefinition)
            .patch({ name: gadgets }, "merge", { spec: { names: { shortNames: ["gd"] } } });
        }),
      ),
    async (cluster) => {
      await define(cluster);
      await cluster.create(kindOf("v1"), { metadata: { name: "a" } });
      await changeStorage(cluster);
      await migrate(cluster, "m");
      await ended(cluster, "m", "Succeeded");
      assert.deepEqual((await definition(cluster)).status?.storedVersions, ["v1", "v2"]);
      assert.deepEqual(await storageMigrating(cluster), [
        "StorageMigrating=False MigrationSucceeded: The migration has succeeded but the stored versions have not been updated due to a generation mismatch",
      ]);
    },
  ));

test("a resource that is missing fails a migration after a minute, one that cannot be patched at once", () =>
  migrating(async (cluster) => {
    await migrate(cluster, "reviews", "authentication.k8s.io", "tokenreviews");
    const [failed] = texts(await ended(cluster, "reviews", "Failed"));
    assert.equal(
      failed,
      'Failed=True StorageVersionMigrationFailed: resource "authentication.k8s.io/v1, Resource=tokenreviews" does not support discovery operations: [update patch list]',
    );
    await migrate(cluster, "missing");
    await cluster.settle();
    assert.match(texts(await cluster.get(StorageVersionMigration, "missing")).join(), /^Running=True/);
    cluster.clock.advance(61_000);
    assert.match(
      texts(await ended(cluster, "missing", "Failed")).join(),
      /Failed=True StorageVersionMigrationFailed: resource does not exist in discovery/,
    );
    cluster.problems.length = 0;
  }));

test("a controller that is killed at any write is taken over from", () =>
  killedAtEveryWrite(start, async (cluster) => {
    await define(cluster);
    for (const name of ["a", "b"]) await cluster.create(kindOf("v1"), { metadata: { name } });
    await changeStorage(cluster);
    await migrate(cluster, "m");
    await ended(cluster, "m", "Succeeded");
    assert.deepEqual((await definition(cluster)).status?.storedVersions, ["v2"]);
  }));

test("with the feature gate off, nothing happens", () =>
  withCluster(
    (context) =>
      start({
        ...context,
        features: {
          ...context.features,
          enabled: (gate) => gate !== "StorageVersionMigrator" && context.features.enabled(gate),
        },
      }),
    async (cluster) => {
      await migrate(cluster, "m", "", "configmaps");
      await cluster.settle();
      assert.deepEqual(texts(await cluster.get(StorageVersionMigration, "m")), []);
    },
  ));
