import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kind } from "@dray/api";
import { CustomResourceDefinition } from "@dray/api/apiextensions/v1";
import { ResourceQuota } from "@dray/api/core/v1";
import { servedResources, startResourceQuotaController } from "@dray/controllers";
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

const remove = async (cluster: TestCluster, kind: Kind, name: string, policy?: string): Promise<void> => {
  const ref = kind.namespaced ? { namespace: "d", name } : { name };
  await cluster.client
    .resource(kind)
    .delete(ref, policy === undefined ? {} : { propagationPolicy: policy as "Orphan" });
};

test("quota: counts objects of a kind that came later, and gives back what is deleted", () =>
  withCluster(
    async (context) => startResourceQuotaController(context, await servedResources(context)),
    async (cluster) => {
      const gadget = kindOf("Gadget");
      const name = "count/gadgets.example.com";
      await cluster.create(ResourceQuota, { metadata: { name: "q" }, spec: { hard: { [name]: "2" } } });
      const used = (count: string): Promise<boolean> =>
        cluster.until(`${count} used`, async () => {
          return (await cluster.get(ResourceQuota, "q")).status?.used?.[name] === count;
        });
      await cluster.settle();
      await define(cluster, gadget);
      await used("0");
      await cluster.create(gadget, { metadata: { name: "a" } });
      await cluster.create(gadget, { metadata: { name: "b" } });
      await used("2");
      await assert.rejects(cluster.create(gadget, { metadata: { name: "c" } }), /exceeded quota: q/);
      await remove(cluster, gadget, "a");
      await used("1");
    },
  ));
