import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, Pod, Service } from "@dray/api/core/v1";
import { EndpointSlice } from "@dray/api/discovery/v1";
import { startEndpointSliceController } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";
import { runs, service, webPod } from "./testing.ts";

async function slicesOf(
  cluster: TestCluster,
  what: string,
  isRight: (slices: readonly EndpointSlice[]) => boolean,
): Promise<readonly EndpointSlice[]> {
  let last: readonly EndpointSlice[] = [];
  try {
    return await cluster.until(what, async () => {
      last = await cluster.list(EndpointSlice);
      return isRight(last) && last;
    });
  } catch (error) {
    throw new Error(`${JSON.stringify(last, undefined, 1)}`, { cause: error });
  }
}

const addressesOf = (slices: readonly EndpointSlice[]): string[] =>
  slices.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses)).sort();

test("a Service leads to the pods that it selects, with their state, node, zone and the number of a named port", () =>
  withCluster(startEndpointSliceController, async (cluster) => {
    await cluster.node("a", { labels: { "topology.kubernetes.io/zone": "z1" } });
    const owner = await cluster.create(Service, service("web", {}, { labels: { team: "x" } }));
    const [placeholder] = await slicesOf(cluster, "a placeholder", (slices) => slices.length === 1);
    assert.deepEqual([placeholder?.endpoints ?? [], placeholder?.ports ?? []], [[], []]);
    await cluster.create(Pod, webPod("ready"));
    await cluster.create(Pod, webPod("starting"));
    await cluster.create(Pod, { ...webPod("other"), metadata: { name: "other", labels: { app: "other" } } });
    const { uid } = (await runs(cluster, "ready", ["10.0.0.1"])).metadata;
    await runs(cluster, "starting", ["10.0.0.2"], false);
    await runs(cluster, "other", ["10.0.0.3"]);
    const slices = await slicesOf(cluster, "endpoints", (all) => addressesOf(all).length === 2);
    assert.equal(slices.length, 1);
    const [slice] = slices;
    assert.equal(slice?.metadata.name, placeholder?.metadata.name, "the placeholder is used again");
    assert.deepEqual(slice?.metadata.labels, {
      team: "x",
      "kubernetes.io/service-name": "web",
      "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    });
    assert.equal(slice?.metadata.ownerReferences?.[0]?.uid, owner.metadata.uid);
    assert.equal(
      slice?.metadata.annotations?.["endpoints.kubernetes.io/last-change-trigger-time"] !== undefined,
      true,
    );
    assert.deepEqual(slice?.ports, [{ name: "http", protocol: "TCP", port: 8080 }]);
    const [ready, starting] = slice?.endpoints ?? [];
    assert.deepEqual(ready, {
      addresses: ["10.0.0.1"],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: "Pod", namespace: "d", name: "ready", uid },
      nodeName: "a",
      zone: "z1",
    });
    assert.deepEqual(starting?.conditions, { ready: false, serving: false, terminating: false });
  }));

test("a pod that ends serves while it does, and is gone afterwards", () =>
  withCluster(startEndpointSliceController, async (cluster) => {
    await cluster.node("a");
    await cluster.create(Service, service("web"));
    await cluster.create(Pod, webPod("p"));
    const pod = await runs(cluster, "p", ["10.0.0.1"]);
    await cluster.client.resource(Pod).delete({ namespace: "d", name: "p" });
    const [slice] = await slicesOf(
      cluster,
      "terminating",
      ([first]) => first?.endpoints?.[0]?.conditions?.terminating === true,
    );
    assert.deepEqual(slice?.endpoints?.[0]?.conditions, { ready: false, serving: true, terminating: true });
    await cluster.setStatus(pod, { phase: "Succeeded" });
    await slicesOf(cluster, "no endpoint", (slices) => addressesOf(slices).length === 0);
  }));

test("publishNotReadyAddresses: a pod that is not ready counts as ready", () =>
  withCluster(startEndpointSliceController, async (cluster) => {
    await cluster.node("a");
    await cluster.create(Service, service("web", { publishNotReadyAddresses: true }));
    await cluster.create(Pod, webPod("p"));
    await runs(cluster, "p", ["10.0.0.1"], false);
    const [slice] = await slicesOf(cluster, "endpoint", (slices) => addressesOf(slices).length === 1);
    assert.deepEqual(slice?.endpoints?.[0]?.conditions, { ready: true, serving: false, terminating: false });
  }));

test("a headless Service names the pods of its subdomain", () =>
  withCluster(startEndpointSliceController, async (cluster) => {
    await cluster.node("a");
    await cluster.create(Service, service("db", { clusterIP: "None", ports: undefined }));
    await cluster.create(Pod, webPod("db-0", { hostname: "db-0", subdomain: "db" }));
    await runs(cluster, "db-0", ["10.0.0.1"]);
    const [slice] = await slicesOf(cluster, "endpoint", (slices) => addressesOf(slices).length === 1);
    assert.equal(slice?.endpoints?.[0]?.hostname, "db-0");
    assert.equal(slice?.metadata.labels?.["service.kubernetes.io/headless"], "");
    assert.deepEqual(slice?.ports ?? [], []);
  }));

test("dual stack: one slice for each family", () =>
  withCluster(
    startEndpointSliceController,
    async (cluster) => {
      await cluster.node("a");
      await cluster.create(
        Service,
        service("web", {
          clusterIP: "None",
          ipFamilyPolicy: "RequireDualStack",
          ipFamilies: ["IPv4", "IPv6"],
        }),
      );
      await cluster.create(Pod, webPod("p"));
      await runs(cluster, "p", ["10.0.0.1", "fd00::1"]);
      const slices = await slicesOf(cluster, "both", (all) => addressesOf(all).length === 2);
      assert.deepEqual(Object.fromEntries(slices.map((slice) => [slice.addressType, addressesOf([slice])])), {
        IPv4: ["10.0.0.1"],
        IPv6: ["fd00::1"],
      });
    },
    { serviceRanges: ["10.96.0.0/16", "fd00:96::/108"] },
  ));

test("at most 100 endpoints a slice; a removed endpoint does not move the others", () =>
  withCluster(startEndpointSliceController, async (cluster) => {
    await cluster.node("a");
    const names = Array.from({ length: 101 }, (_, i) => `p${i}`);
    for (const name of names) await cluster.create(Pod, webPod(name));
    await Promise.all(names.map((name, i) => runs(cluster, name, [`10.0.1.${i}`])));
    await cluster.create(Service, service("web"));
    const slices = await slicesOf(cluster, "all", (all) => addressesOf(all).length === 101);
    assert.deepEqual(slices.map(({ endpoints }) => endpoints?.length).sort(), [1, 100]);
    const full = slices.find(({ endpoints }) => endpoints?.length === 100);
    const small = slices.find(({ endpoints }) => endpoints?.length === 1);
    const gone = full?.endpoints?.[3]?.targetRef?.name ?? "";
    await cluster.client.resource(Pod).delete({ namespace: "d", name: gone }, { gracePeriodSeconds: 0 });
    const later = await slicesOf(cluster, "one less", (all) => addressesOf(all).length === 100);
    assert.equal(
      later.find(({ metadata }) => metadata.name === small?.metadata.name)?.metadata.resourceVersion,
      small?.metadata.resourceVersion,
    );
  }));

test("trafficDistribution: ready endpoints have hints of their zone, or of their node too", () =>
  withCluster(startEndpointSliceController, async (cluster) => {
    await cluster.node("a", { labels: { "topology.kubernetes.io/zone": "z1" } });
    await cluster.create(Service, service("web", { trafficDistribution: "PreferSameNode" }));
    await cluster.create(Pod, webPod("p"));
    await runs(cluster, "p", ["10.0.0.1"]);
    const [slice] = await slicesOf(cluster, "hints", ([first]) => first?.endpoints?.[0]?.hints !== undefined);
    assert.deepEqual(slice?.endpoints?.[0]?.hints, {
      forZones: [{ name: "z1" }],
      forNodes: [{ name: "a" }],
    });
    await cluster.client
      .resource(Service)
      .patch({ namespace: "d", name: "web" }, "merge", { spec: { trafficDistribution: null } });
    await slicesOf(cluster, "no hints", ([first]) => first?.endpoints?.[0]?.hints === undefined);
  }));

test("restores changed and deleted slices, and leaves slices of others alone", () =>
  withCluster(startEndpointSliceController, async (cluster) => {
    await cluster.node("a");
    await cluster.create(Service, service("web"));
    await cluster.create(Pod, webPod("p"));
    await runs(cluster, "p", ["10.0.0.1"]);
    const [slice] = await slicesOf(cluster, "endpoint", (all) => addressesOf(all).length === 1);
    await cluster.create(EndpointSlice, {
      metadata: { name: "mine", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.9.9.9"] }],
    });
    const name = slice?.metadata.name ?? "";
    await cluster.client
      .resource(EndpointSlice)
      .patch({ namespace: "d", name }, "merge", { endpoints: [{ addresses: ["10.0.0.7"] }] });
    const right = ["10.0.0.1", "10.9.9.9"];
    const isRight = (all: readonly EndpointSlice[]): boolean => addressesOf(all).join() === right.join();
    await slicesOf(cluster, "put right", isRight);
    await cluster.client.resource(EndpointSlice).delete({ namespace: "d", name });
    await slicesOf(cluster, "made again", isRight);
  }));

test("a pod whose node appears later, and a node whose zone becomes known", () =>
  withCluster(startEndpointSliceController, async (cluster) => {
    await cluster.create(Service, service("web"));
    await cluster.create(Pod, webPod("p", { nodeName: "late" }));
    await cluster.setStatus(await cluster.get(Pod, "p"), {
      phase: "Running",
      podIP: "10.0.0.1",
      podIPs: [{ ip: "10.0.0.1" }],
    });
    await cluster.settle();
    assert.deepEqual(addressesOf(await cluster.list(EndpointSlice)), []);
    await cluster.node("late");
    await slicesOf(cluster, "endpoint", (all) => addressesOf(all).length === 1);
    await cluster.client.resource(Node).patch({ name: "late" }, "merge", {
      metadata: { labels: { "topology.kubernetes.io/zone": "z2" } },
    });
    await slicesOf(cluster, "zone", ([slice]) => slice?.endpoints?.[0]?.zone === "z2");
  }));

test("slices: a controller that comes back goes on and makes nothing twice", () =>
  withCluster(startEndpointSliceController, async (cluster) => {
    await cluster.node("a");
    await cluster.create(Service, service("web"));
    for (const name of ["p", "q"]) await cluster.create(Pod, webPod(name));
    await runs(cluster, "p", ["10.0.0.1"]);
    const [before] = await slicesOf(cluster, "endpoint", (all) => addressesOf(all).length === 1);
    await cluster.restart(async () => {
      await runs(cluster, "q", ["10.0.0.2"]);
    }, startEndpointSliceController);
    const after = await slicesOf(cluster, "both", (all) => addressesOf(all).length === 2);
    assert.deepEqual(
      after.map(({ metadata }) => metadata.name),
      [before?.metadata.name],
    );
  }));
