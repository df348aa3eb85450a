import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@dray/api";
import { ConfigMap, PersistentVolumeClaim, Pod, ResourceQuota } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim } from "@dray/api/resource/v1";
import type { Client, Informer, ResourceClient } from "@dray/client";
import {
  type ControllerContext,
  servedResources,
  startClaimProtection,
  startResourceQuotaController,
} from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";
import { afterEachCrash } from "../testing/crashes.ts";

const pod = (name: string, cpu: string, more: object = {}): object => ({
  metadata: { name },
  spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }], ...more },
});

async function counts(cluster: TestCluster, used: Record<string, string>): Promise<void> {
  await cluster.until(`used is ${JSON.stringify(used)}`, async () => {
    const { status } = await cluster.get(ResourceQuota, "q");
    return Object.entries(used).every(([name, value]) => status?.used?.[name] === value);
  });
}

test("a quota shows what is used, takes what admission charges and gives back what ends or is deleted", () =>
  withCluster(
    async (context) => startResourceQuotaController(context, await servedResources(context)),
    async (cluster) => {
      await cluster.create(Pod, pod("before", "250m"));
      await cluster.create(ResourceQuota, {
        metadata: { name: "q" },
        spec: { hard: { "requests.cpu": "1", pods: "2", "count/configmaps": "5" } },
      });
      await counts(cluster, { "requests.cpu": "250m", pods: "1", "count/configmaps": "0" });
      await cluster.create(Pod, pod("after", "500m"));
      await cluster.create(ConfigMap, { metadata: { name: "m" } });
      await counts(cluster, { "requests.cpu": "750m", pods: "2", "count/configmaps": "1" });
      await assert.rejects(cluster.create(Pod, pod("more", "1m")), /exceeded quota: q/);
      const after = await cluster.get(Pod, "after");
      await cluster.setStatus(after, { phase: "Succeeded" });
      await counts(cluster, { "requests.cpu": "250m", pods: "1" });
      await cluster.client.resource(Pod).delete({ namespace: "d", name: "before" });
      await cluster.client.resource(ConfigMap).delete({ namespace: "d", name: "m" });
      await counts(cluster, { "requests.cpu": "0", pods: "0", "count/configmaps": "0" });
    },
  ));

test("devices count by class and by extended resource, and no device twice", () =>
  withCluster(
    async (context) => startResourceQuotaController(context, await servedResources(context)),
    async (cluster) => {
      const explicit = "requests.example.com/gpu";
      const implicit = "requests.deviceclass.resource.kubernetes.io/gpu";
      const byClass = "gpu.deviceclass.resource.k8s.io/devices";
      const claims = "count/resourceclaims.resource.k8s.io";
      await cluster.create(DeviceClass, {
        metadata: { name: "gpu" },
        spec: { extendedResourceName: "example.com/gpu" },
      });
      await cluster.create(ResourceQuota, {
        metadata: { name: "q" },
        spec: { hard: { [explicit]: "3", [implicit]: "3", [byClass]: "4", [claims]: "5" } },
      });
      const used = (first: string, second: string, third: string, fourth: string): Promise<void> =>
        counts(cluster, { [explicit]: first, [implicit]: second, [byClass]: third, [claims]: fourth });
      await used("0", "0", "0", "0");
      const claim = (name: string, count: number, metadata: object = {}): Promise<ResourceClaim> => {
        const requests = [{ name: "r", exactly: { deviceClassName: "gpu", count } }];
        return cluster.create(ResourceClaim, {
          metadata: { name, ...metadata },
          spec: { devices: { requests } },
        });
      };
      await claim("two", 2);
      await used("2", "2", "2", "1");
      const amount = { "example.com/gpu": "1" };
      const containers = [{ name: "c", image: "i", resources: { requests: amount, limits: amount } }];
      const { metadata } = await cluster.create(Pod, { metadata: { name: "p" }, spec: { containers } });
      await used("3", "2", "2", "1");
      // The scheduler creates this claim for the pod: the explicit name was charged with the pod.
      await claim("extended", 1, {
        annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: metadata.uid, controller: true }],
      });
      await used("3", "3", "3", "2");
      await assert.rejects(claim("more", 1), {
        message: `resourceclaims.resource.k8s.io "more" is forbidden: exceeded quota: q, requested: ${implicit}=1,${explicit}=1, used: ${implicit}=3,${explicit}=3, limited: ${implicit}=3,${explicit}=3`,
      });
      // With the pod its charge is gone, and the claim counts by itself.
      await cluster.client.resource(Pod).delete({ namespace: "d", name: "p" });
      await used("3", "3", "3", "2");
      await cluster.client.resource(ResourceClaim).delete({ namespace: "d", name: "extended" });
      await used("2", "2", "2", "1");
    },
  ));

test("a count that conflicts with a charge of admission is repeated", () =>
  withCluster(
    async (context) => {
      const { client } = context;
      let charged = false;
      const update: ResourceClient<ResourceQuota>["update"] = async (quota, options) => {
        if (!charged && quota.status?.used?.["count/configmaps"] === "1") {
          charged = true;
          const status = { used: { "count/configmaps": "3" } };
          await client
            .resource(ResourceQuota)
            .patch({ namespace: "d", name: "q" }, "merge", { status }, options);
        }
        return client.resource(ResourceQuota).update(quota, options);
      };
      const resource = ((kind, options) => {
        const given = client.resource(kind, options);
        return kind.kind === "ResourceQuota" ? { ...given, update } : given;
      }) as Client["resource"];
      const charging = { ...context, client: { ...client, resource } };
      return startResourceQuotaController(charging, await servedResources(charging));
    },
    async (cluster) => {
      await cluster.create(ResourceQuota, {
        metadata: { name: "q" },
        spec: { hard: { "count/configmaps": "5" } },
      });
      await counts(cluster, { "count/configmaps": "0" });
      await cluster.create(ConfigMap, { metadata: { name: "a" } });
      await cluster.create(ConfigMap, { metadata: { name: "b" } });
      await cluster.client.resource(ConfigMap).delete({ namespace: "d", name: "b" });
      await counts(cluster, { "count/configmaps": "3" });
      await counts(cluster, { "count/configmaps": "1" });
    },
  ));

test("an object that the cache has later than a count is counted after all", () => {
  let arrive = (): void => {};
  const late = (object: KubeObject): boolean => object.metadata.name === "late";
  /** Hides the object until it arrives. */
  const delayed = (informer: Informer<KubeObject>): Informer<KubeObject> => {
    let hidden = true;
    return new Proxy(informer, {
      get(target, name) {
        if (name === "list") return () => target.list().filter((object) => !hidden || !late(object));
        if (name === "handle")
          return ({ add, ...others }: Parameters<typeof target.handle>[0]) =>
            target.handle({
              ...others,
              add(object) {
                if (!late(object)) return add?.(object);
                arrive = () => {
                  hidden = false;
                  add?.(object);
                };
              },
            });
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  };
  return withCluster(
    async (context) => {
      const of = ((kind) => {
        const informer = context.informers.of(kind);
        return kind.resource === "configmaps" ? delayed(informer as never) : informer;
      }) as ControllerContext["informers"]["of"];
      const lagging = { ...context, informers: { ...context.informers, of } };
      return startResourceQuotaController(lagging, await servedResources(lagging));
    },
    async (cluster) => {
      await cluster.create(ResourceQuota, {
        metadata: { name: "q" },
        spec: { hard: { "count/configmaps": "5" } },
      });
      await counts(cluster, { "count/configmaps": "0" });
      await cluster.create(ConfigMap, { metadata: { name: "early" } });
      await cluster.create(ConfigMap, { metadata: { name: "late" } });
      await counts(cluster, { "count/configmaps": "2" });
      await cluster.client.resource(ConfigMap).delete({ namespace: "d", name: "early" });
      await counts(cluster, { "count/configmaps": "0" });
      arrive();
      await counts(cluster, { "count/configmaps": "1" });
    },
  );
});

test("killed before its write the counting goes on", () =>
  afterEachCrash(async (context) => startResourceQuotaController(context, await servedResources(context)), {
    async before(cluster) {
      await cluster.create(Pod, pod("p", "250m"));
      await cluster.create(ResourceQuota, {
        metadata: { name: "q" },
        spec: { hard: { "requests.cpu": "1" } },
      });
    },
    done: async (cluster) =>
      (await cluster.get(ResourceQuota, "q")).status?.used?.["requests.cpu"] === "250m",
  }));

test("a volume claim that is being deleted stays until no pod uses it", () =>
  withCluster(startClaimProtection, async (cluster) => {
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    await cluster.create(PersistentVolumeClaim, { metadata: { name: "v" }, spec });
    const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "v" } }];
    await cluster.create(Pod, pod("p", "1m", { volumes }));
    const ref = { namespace: "d", name: "v" };
    await cluster.client.resource(PersistentVolumeClaim).delete(ref);
    await cluster.settle();
    assert.notEqual(await cluster.find(PersistentVolumeClaim, "v"), undefined);
    await cluster.client.resource(Pod).delete({ namespace: "d", name: "p" });
    await cluster.until(
      "the claim is gone",
      async () => (await cluster.find(PersistentVolumeClaim, "v")) === undefined,
    );
  }));
