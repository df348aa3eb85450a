import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kind, KubeObject } from "@dray/api";
import { CustomResourceDefinition } from "@dray/api/apiextensions/v1";
import { ConfigMap, Event, Namespace } from "@dray/api/core/v1";
import { type Informers, servedResources, startGarbageCollector } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const collecting = (run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(async (context) => startGarbageCollector(context, await servedResources(context)), run);

function kindOf(name: string, namespaced = true, version = "v1"): Kind {
  return { group: "example.com", version, kind: name, resource: `${name.toLowerCase()}s`, namespaced };
}

const versionRow = (name: string, more: object = {}): object => ({
  name,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
  ...more,
});

/** Defines the kind and waits until its objects can be made. */
async function define(cluster: TestCluster, kind: Kind): Promise<void> {
  const { group, resource } = kind;
  await cluster.create(CustomResourceDefinition, {
    metadata: { name: `${resource}.${group}` },
    spec: {
      group,
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      names: { plural: resource, kind: kind.kind },
      versions: [versionRow(kind.version, { storage: true })],
    },
  });
  await cluster.until("established", async () => {
    const { status } = await cluster.get(CustomResourceDefinition, `${resource}.${group}`);
    return status?.conditions?.some(({ type, status: state }) => type === "Established" && state === "True");
  });
}

function ownedBy(owner: KubeObject, more: object = {}): object {
  const { apiVersion, kind, metadata } = owner;
  const { name, uid } = metadata;
  return { ownerReferences: [{ apiVersion, kind, name, uid, blockOwnerDeletion: true, ...more }] };
}

const gone = (cluster: TestCluster, kind: Kind, name: string): Promise<true> =>
  cluster.until(`${name} is gone`, async () => (await cluster.find(kind, name)) === undefined && true);

const remove = async (cluster: TestCluster, kind: Kind, name: string, policy?: string): Promise<void> => {
  const ref = kind.namespaced ? { namespace: "d", name } : { name };
  await cluster.client
    .resource(kind)
    .delete(ref, policy === undefined ? {} : { propagationPolicy: policy as "Orphan" });
};

const free = async (cluster: TestCluster, kind: Kind, name: string): Promise<void> => {
  const ref = kind.namespaced ? { namespace: "d", name } : { name };
  await cluster.client.resource(kind).patch(ref, "merge", { metadata: { finalizers: null } });
};

test("garbage: of a kind that came later, as owner and as dependent", () =>
  collecting(async (cluster) => {
    const [gadget, house] = [kindOf("Gadget"), kindOf("House", false)];
    await define(cluster, gadget);
    await define(cluster, house);
    const top = await cluster.create(house, { metadata: { name: "top" } });
    const owner = await cluster.create(gadget, { metadata: { name: "owner", ...ownedBy(top) } });
    await cluster.create(ConfigMap, { metadata: { name: "map", ...ownedBy(owner) } });
    const map = await cluster.create(ConfigMap, { metadata: { name: "first" } });
    await cluster.create(gadget, { metadata: { name: "of-map", ...ownedBy(map) } });
    await cluster.settle();
    await remove(cluster, ConfigMap, "first");
    await gone(cluster, gadget, "of-map");
    await cluster.get(gadget, "owner");
    await remove(cluster, house, "top");
    await gone(cluster, gadget, "owner");
    await gone(cluster, ConfigMap, "map");
  }));

test("garbage: a custom owner deleted in the foreground waits for those that block it, and for no others", () =>
  collecting(async (cluster) => {
    const gadget = kindOf("Gadget");
    await define(cluster, gadget);
    const owner = await cluster.create(gadget, { metadata: { name: "owner" } });
    const finalizers = ["example.com/hold"];
    await cluster.create(gadget, { metadata: { name: "blocks", finalizers, ...ownedBy(owner) } });
    const loose = ownedBy(owner, { blockOwnerDeletion: false });
    await cluster.create(ConfigMap, { metadata: { name: "loose", finalizers, ...loose } });
    await cluster.settle();
    await remove(cluster, gadget, "owner", "Foreground");
    await cluster.until("both go", async () => {
      const both = [await cluster.get(gadget, "blocks"), await cluster.get(ConfigMap, "loose")];
      return both.every(({ metadata }) => metadata.deletionTimestamp !== undefined);
    });
    await cluster.settle();
    await cluster.get(gadget, "owner");
    await free(cluster, gadget, "blocks");
    await gone(cluster, gadget, "owner");
    await cluster.get(ConfigMap, "loose");
  }));

test("garbage: custom dependents are orphaned with propagationPolicy Orphan", () =>
  collecting(async (cluster) => {
    const gadget = kindOf("Gadget");
    await define(cluster, gadget);
    const owner = await cluster.create(gadget, { metadata: { name: "owner" } });
    await cluster.create(gadget, { metadata: { name: "stays", ...ownedBy(owner) } });
    await cluster.settle();
    await remove(cluster, gadget, "owner", "Orphan");
    await gone(cluster, gadget, "owner");
    const { metadata } = await cluster.get(gadget, "stays");
    assert.deepEqual(metadata.ownerReferences ?? [], []);
  }));

test("garbage: objects in a circle of owners that are deleted in the foreground do not wait for each other", () =>
  collecting(async (cluster) => {
    const first = await cluster.create(ConfigMap, { metadata: { name: "first" } });
    const second = await cluster.create(ConfigMap, { metadata: { name: "second", ...ownedBy(first) } });
    await cluster.client
      .resource(ConfigMap)
      .patch({ namespace: "d", name: "first" }, "merge", { metadata: ownedBy(second) });
    await cluster.settle();
    await remove(cluster, ConfigMap, "first", "Foreground");
    await gone(cluster, ConfigMap, "first");
    await gone(cluster, ConfigMap, "second");
  }));

test("garbage: nothing goes for an owner of a kind that is not there, until the kind is", () =>
  collecting(async (cluster) => {
    const reference = { apiVersion: "example.com/v1", kind: "Gadget", name: "never" };
    const uid = "00000000-0000-4000-8000-000000000000";
    await cluster.create(ConfigMap, {
      metadata: { name: "map", ownerReferences: [{ ...reference, uid }] },
    });
    for (let looks = 0; looks < 4; looks++) {
      await cluster.settle();
      cluster.clock.advance(30_000);
    }
    await cluster.settle();
    await cluster.get(ConfigMap, "map");
    await define(cluster, kindOf("Gadget"));
    await gone(cluster, ConfigMap, "map");
  }));

test("garbage: deleting a definition deletes the dependents of its objects, also after the kind came back", () =>
  collecting(async (cluster) => {
    const gadget = kindOf("Gadget");
    for (let round = 0; round < 2; round++) {
      await define(cluster, gadget);
      const owner = await cluster.create(gadget, { metadata: { name: "owner" } });
      await cluster.create(ConfigMap, { metadata: { name: "map", ...ownedBy(owner) } });
      await cluster.settle();
      const cache = cluster.context.informers.of(gadget);
      assert.equal(cache.list().length, 1);
      await remove(cluster, CustomResourceDefinition, "gadgets.example.com");
      await gone(cluster, CustomResourceDefinition, "gadgets.example.com");
      await gone(cluster, ConfigMap, "map");
      await cache.until(() => false);
    }
  }));

test("garbage: a kind that is served in another version keeps its dependents, and is followed in that version", () =>
  collecting(async (cluster) => {
    const old = kindOf("Gadget");
    const next = kindOf("Gadget", true, "v2");
    await define(cluster, old);
    const owner = await cluster.create(old, { metadata: { name: "owner" } });
    await cluster.create(ConfigMap, { metadata: { name: "map", ...ownedBy(owner) } });
    await cluster.settle();
    const versions = [versionRow("v2"), versionRow("v1", { storage: true })];
    await cluster.client
      .resource(CustomResourceDefinition)
      .patch({ name: "gadgets.example.com" }, "merge", { spec: { versions } });
    await cluster.until("v2", async () => {
      const list = await cluster.list(next).catch(() => []);
      return list.length === 1;
    });
    await cluster.settle();
    await cluster.get(ConfigMap, "map");
    await remove(cluster, next, "owner");
    await gone(cluster, ConfigMap, "map");
  }));

test("garbage: a dependent stays while the kind of its owner is not served, until the owner is gone", () =>
  collecting(async (cluster) => {
    const gadget = kindOf("Gadget");
    await define(cluster, gadget);
    const owner = await cluster.create(gadget, { metadata: { name: "owner" } });
    await cluster.create(ConfigMap, { metadata: { name: "map", ...ownedBy(owner) } });
    await cluster.settle();
    const definitions = cluster.client.resource(CustomResourceDefinition);
    const serve = (served: boolean): Promise<unknown> => {
      const versions = [versionRow("v1", { storage: true, served })];
      return definitions.patch({ name: "gadgets.example.com" }, "merge", { spec: { versions } });
    };
    const cache = cluster.context.informers.of(gadget);
    await serve(false);
    await cache.until(() => false);
    await cluster.client.resource(ConfigMap).patch({ namespace: "d", name: "map" }, "merge", {
      metadata: { labels: { changed: "yes" } },
    });
    await cluster.settle();
    await cluster.get(ConfigMap, "map");
    await serve(true);
    await cluster.until("served", async () => (await cluster.find(gadget, "owner")) !== undefined);
    await cluster.settle();
    await cluster.get(ConfigMap, "map");
    await remove(cluster, gadget, "owner");
    await gone(cluster, ConfigMap, "map");
  }));

test("garbage: a kind whose objects cannot be read holds the collector up for 30 seconds at most", () =>
  collecting(async (cluster) => {
    const gadget = kindOf("Gadget");
    await define(cluster, gadget);
    const owner = await cluster.create(ConfigMap, { metadata: { name: "owner" } });
    await cluster.create(ConfigMap, { metadata: { name: "map", ...ownedBy(owner) } });
    let started = false;
    await cluster.restart(
      () => remove(cluster, ConfigMap, "owner"),
      async (context) => {
        const unreadable = { ...context.informers.of(gadget), start: () => new Promise<void>(() => {}) };
        const informers: Informers = {
          ...context.informers,
          of: (kind) =>
            kind.resource === gadget.resource ? (unreadable as never) : context.informers.of(kind),
        };
        const own = { ...context, informers };
        const starting = startGarbageCollector(own, await servedResources(own));
        void starting.then(() => {
          started = true;
        });
        await cluster.settle();
        assert.equal(started, false);
        cluster.clock.advance(30_000);
        return starting;
      },
    );
    await gone(cluster, ConfigMap, "map");
    const problems = cluster.problems.splice(0);
    assert.ok(problems.every((problem) => problem.startsWith("not every cache is complete")));
    assert.equal(problems.length, 1);
  }));

test("garbage: an event reports an owner in another namespace, which does not count; a cluster-scoped dependent stays", () =>
  collecting(async (cluster) => {
    await cluster.create(Namespace, { metadata: { name: "other" }, spec: {} });
    const owner = await cluster.create(ConfigMap, { metadata: { name: "owner", namespace: "other" } });
    const finalizers = ["example.com/hold"];
    await cluster.settle();
    const away = await cluster.create(ConfigMap, {
      metadata: { name: "away", finalizers, ...ownedBy(owner) },
    });
    await cluster.create(Namespace, { metadata: { name: "wide", ...ownedBy(owner) }, spec: {} });
    await cluster.until("away goes", async () => {
      return (await cluster.get(ConfigMap, "away")).metadata.deletionTimestamp !== undefined;
    });
    const event = await cluster.until("event", async () =>
      (await cluster.list(Event)).find(({ involvedObject }) => involvedObject.uid === away.metadata.uid),
    );
    assert.deepEqual(
      [event.type, event.reason, event.source?.component, event.message],
      [
        "Warning",
        "OwnerRefInvalidNamespace",
        "garbage-collector-controller",
        `ownerRef [v1/ConfigMap, namespace: d, name: owner, uid: ${owner.metadata.uid}] does not exist in namespace "d"`,
      ],
    );
    // The owner is there for those that are where it is.
    await cluster.create(ConfigMap, { metadata: { name: "near", namespace: "other", ...ownedBy(owner) } });
    await cluster.settle();
    await cluster.get(ConfigMap, "near", "other");
    assert.equal((await cluster.get(Namespace, "wide")).metadata.deletionTimestamp, undefined);
  }));

test("garbage: an owner reference with a wrong name counts as absent", () =>
  collecting(async (cluster) => {
    const owner = await cluster.create(ConfigMap, { metadata: { name: "owner" } });
    await cluster.settle();
    await cluster.create(ConfigMap, { metadata: { name: "wrong", ...ownedBy(owner, { name: "else" }) } });
    await gone(cluster, ConfigMap, "wrong");
  }));
