import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kind } from "@dray/api";
import { CustomResourceDefinition } from "@dray/api/apiextensions/v1";
import { APIService } from "@dray/api/apiregistration/v1";
import { Namespace } from "@dray/api/core/v1";
import { servedResources, startNamespaceController } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

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

test("namespace: objects of a kind that came later go, and hold the namespace while they cannot", () =>
  withCluster(
    async (context) => startNamespaceController(context, await servedResources(context)),
    async (cluster) => {
      const gadget = kindOf("Gadget");
      await define(cluster, gadget);
      await cluster.create(gadget, { metadata: { name: "held", finalizers: ["example.com/hold"] } });
      await cluster.create(gadget, { metadata: { name: "free" } });
      await remove(cluster, Namespace, "d");
      const remaining = await cluster.until("condition", async () =>
        (await cluster.get(Namespace, "d")).status?.conditions?.find(
          ({ type, status }) => type === "NamespaceContentRemaining" && status === "True",
        ),
      );
      assert.equal(
        remaining.message,
        "Some resources are remaining: gadgets.example.com has 1 resource instances",
      );
      await gone(cluster, gadget, "free");
      await free(cluster, gadget, "held");
      await gone(cluster, Namespace, "d");
    },
  ));

test("namespace: stays while a server is away that may have objects in it", () =>
  withCluster(
    async (context) => startNamespaceController(context, await servedResources(context)),
    async (cluster) => {
      const name = "v1.away.example.com";
      await cluster.create(APIService, {
        metadata: { name },
        spec: {
          group: "away.example.com",
          version: "v1",
          service: { namespace: "d", name: "nosuch" },
          groupPriorityMinimum: 100,
          versionPriority: 100,
        },
      });
      await cluster.create(Namespace, { metadata: { name: "going" } });
      await cluster.until("the version is known to be away", async () => {
        const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        return (await cluster.client.text("GET", "/apis", { headers: { accept } })).includes("Stale");
      });
      await cluster.client.resource(Namespace).delete({ name: "going" });
      const failure = await cluster.until("the namespace says why it stays", async () => {
        const { status } = await cluster.get(Namespace, "going");
        const found = status?.conditions?.find(({ type }) => type === "NamespaceDeletionDiscoveryFailure");
        return found?.status === "True" && found;
      });
      assert.equal(
        failure.message,
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: " +
          "away.example.com/v1: stale GroupVersion discovery: away.example.com/v1",
      );
      await cluster.client.resource(APIService).delete({ name });
      await cluster.until("the namespace is gone", async () => !(await cluster.find(Namespace, "going")));
    },
  ));
