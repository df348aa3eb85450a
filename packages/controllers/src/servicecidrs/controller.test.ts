import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "@dray/api/core/v1";
import { ServiceCIDR } from "@dray/api/networking/v1";
import { startServiceCIDRController } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const condition = async (cluster: TestCluster, name: string): Promise<string | undefined> => {
  const ready = (await cluster.find(ServiceCIDR, name))?.status?.conditions?.find(
    ({ type }) => type === "Ready",
  );
  return ready && `${ready.status} ${ready.reason}`.trim();
};

test("a ServiceCIDR becomes ready, gives addresses, and stays while a Service has one of them", () =>
  withCluster(startServiceCIDRController, async (cluster) => {
    await cluster.create(ServiceCIDR, { metadata: { name: "more" }, spec: { cidrs: ["10.20.0.0/24"] } });
    await cluster.until("ready", async () => (await condition(cluster, "more")) === "True");
    const { metadata } = await cluster.get(ServiceCIDR, "more");
    assert.deepEqual(metadata.finalizers, ["networking.k8s.io/service-cidr-finalizer"]);
    await cluster.create(Service, {
      metadata: { name: "s" },
      spec: { ports: [{ port: 80 }], clusterIP: "10.20.0.7" },
    });
    await cluster.client.resource(ServiceCIDR).delete({ name: "more" });
    await cluster.until("held", async () => (await condition(cluster, "more")) === "False Terminating");
    cluster.clock.advance(60_000);
    await cluster.settle();
    assert.ok(await cluster.find(ServiceCIDR, "more"));
    await cluster.client.resource(Service).delete({ namespace: "d", name: "s" });
    await cluster.until("gone", async () => (await cluster.find(ServiceCIDR, "more")) === undefined);
  }));

test("a ServiceCIDR whose addresses lie in another one, too, goes after ten seconds", () =>
  withCluster(startServiceCIDRController, async (cluster) => {
    for (const [name, cidr] of [
      ["small", "10.20.0.0/24"],
      ["large", "10.20.0.0/16"],
    ] as const)
      await cluster.create(ServiceCIDR, { metadata: { name }, spec: { cidrs: [cidr] } });
    await cluster.until("ready", async () => (await condition(cluster, "large")) === "True");
    await cluster.create(Service, {
      metadata: { name: "s" },
      spec: { ports: [{ port: 80 }], clusterIP: "10.20.0.7" },
    });
    await cluster.client.resource(ServiceCIDR).delete({ name: "small" });
    await cluster.settle();
    cluster.clock.advance(9_000);
    await cluster.settle();
    assert.ok(await cluster.find(ServiceCIDR, "small"), "other API servers have time to hear of it");
    cluster.clock.advance(2_000);
    await cluster.until("gone", async () => (await cluster.find(ServiceCIDR, "small")) === undefined);
  }));
