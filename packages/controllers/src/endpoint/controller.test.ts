import assert from "node:assert/strict";
import { test } from "node:test";
import { Endpoints, Event, Pod, Service } from "@dray/api/core/v1";
import { EndpointSlice } from "@dray/api/discovery/v1";
import {
  type ControllerContext,
  startEndpointSliceMirroringController,
  startEndpointsController,
} from "@dray/controllers";
import { runs, service, webPod } from "../endpointslice/testing.ts";
import { type TestCluster, withCluster } from "../testing/cluster.ts";
import { repackSubsets, truncateSubsets } from "./subsets.ts";

const startBoth = (context: ControllerContext): Promise<unknown> =>
  Promise.all([startEndpointsController(context), startEndpointSliceMirroringController(context)]);

const ips = (endpoints: Endpoints | undefined, field: "addresses" | "notReadyAddresses"): string[] =>
  (endpoints?.subsets ?? []).flatMap((subset) => (subset[field] ?? []).map(({ ip }) => ip));

const endpointsWith = (
  cluster: TestCluster,
  what: string,
  isRight: (endpoints: Endpoints) => boolean,
): Promise<Endpoints> =>
  cluster.until(what, async () => {
    const endpoints = await cluster.find(Endpoints, "web");
    return endpoints !== undefined && isRight(endpoints) && endpoints;
  });

test("Endpoints: ready and unready pods of a Service; gone with it", () =>
  withCluster(startBoth, async (cluster) => {
    await cluster.node("a");
    await cluster.create(Service, service("web"));
    for (const name of ["p", "q"]) await cluster.create(Pod, webPod(name));
    await runs(cluster, "p", ["10.0.0.1"]);
    await runs(cluster, "q", ["10.0.0.2"], false);
    const endpoints = await endpointsWith(
      cluster,
      "both",
      (each) => ips(each, "addresses").length + ips(each, "notReadyAddresses").length === 2,
    );
    assert.deepEqual(ips(endpoints, "addresses"), ["10.0.0.1"]);
    assert.deepEqual(ips(endpoints, "notReadyAddresses"), ["10.0.0.2"]);
    assert.deepEqual(endpoints.subsets?.[0]?.ports, [{ name: "http", port: 8080, protocol: "TCP" }]);
    assert.equal(endpoints.metadata.labels?.["endpoints.kubernetes.io/managed-by"], "endpoint-controller");
    await cluster.settle();
    assert.deepEqual(await cluster.list(EndpointSlice), [], "what has a selector is not mirrored");
    await cluster.client.resource(Service).delete({ namespace: "d", name: "web" });
    await cluster.until("gone", async () => (await cluster.find(Endpoints, "web")) === undefined);
  }));

test("Endpoints of a Service that was deleted while the controller was down are deleted", () =>
  withCluster(startEndpointsController, async (cluster) => {
    await cluster.create(Service, service("web"));
    await endpointsWith(cluster, "made", () => true);
    const leader = { "control-plane.alpha.kubernetes.io/leader": "{}" };
    await cluster.create(Endpoints, { metadata: { name: "election", annotations: leader } });
    await cluster.restart(async () => {
      await cluster.client.resource(Service).delete({ namespace: "d", name: "web" });
    }, startEndpointsController);
    await cluster.until("gone", async () => (await cluster.find(Endpoints, "web")) === undefined);
    assert.ok(await cluster.find(Endpoints, "election"));
  }));

test("Endpoints: subsets are packed by ports, and cut at 1000 addresses, ready ones first", () => {
  const http = { name: "http", port: 80 };
  const a = { ip: "10.0.0.1" };
  const b = { ip: "10.0.0.2" };
  const packed = repackSubsets([
    { addresses: [b], ports: [http] },
    { addresses: [a], ports: [http, { port: 81 }] },
    { notReadyAddresses: [b], ports: [{ port: 81 }] },
  ]);
  assert.deepEqual(
    new Set(packed),
    new Set([
      { addresses: [a, b], ports: [{ name: "http", port: 80, protocol: "TCP" }] },
      { addresses: [a], notReadyAddresses: [b], ports: [{ port: 81, protocol: "TCP" }] },
    ]),
  );
  assert.deepEqual(repackSubsets(packed.toReversed()), packed);
  const many = (count: number): { ip: string }[] =>
    Array.from({ length: count }, (_, i) => ({ ip: `10.1.${i >> 8}.${i & 255}` }));
  assert.equal(truncateSubsets([{ addresses: many(1000) }]), undefined);
  assert.deepEqual(
    truncateSubsets([{ addresses: many(900), notReadyAddresses: many(400) }])?.map((subset) => [
      subset.addresses?.length,
      subset.notReadyAddresses?.length,
    ]),
    [[900, 100]],
  );
  assert.deepEqual(
    truncateSubsets([{ addresses: many(1500) }, { addresses: many(500), notReadyAddresses: many(9) }])?.map(
      (subset) => [subset.addresses?.length, subset.notReadyAddresses?.length],
    ),
    [
      [750, undefined],
      [250, undefined],
    ],
  );
});

const handWritten = (subsets: object[]): object => ({
  metadata: { name: "web", labels: { team: "x" }, annotations: { note: "y" } },
  subsets,
});

test("mirroring: Endpoints that a user writes become EndpointSlices", () =>
  withCluster(startBoth, async (cluster) => {
    await cluster.create(Service, service("web", { selector: undefined, ports: [{ port: 80 }] }));
    const owner = await cluster.create(
      Endpoints,
      handWritten([
        {
          addresses: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
          notReadyAddresses: [{ ip: "10.0.0.2" }],
          ports: [{ port: 80 }],
        },
      ]),
    );
    const slices = await cluster.until("mirrored", async () => {
      const all = await cluster.list(EndpointSlice);
      return all.length === 2 && all;
    });
    const v4 = slices.find(({ addressType }) => addressType === "IPv4");
    assert.deepEqual(
      v4?.endpoints?.map(({ addresses, conditions }) => [addresses[0], conditions?.ready]),
      [
        ["10.0.0.1", true],
        ["10.0.0.2", false],
      ],
    );
    assert.deepEqual(v4?.metadata.labels, {
      team: "x",
      "kubernetes.io/service-name": "web",
      "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    });
    assert.equal(v4?.metadata.annotations?.["note"], "y");
    assert.equal(v4?.metadata.ownerReferences?.[0]?.uid, owner.metadata.uid);

    await cluster.client
      .resource(Endpoints, { ignoreWarnings: true })
      .patch({ namespace: "d", name: "web" }, "merge", {
        subsets: [{ addresses: [{ ip: "10.0.0.9" }], ports: [{ port: 81 }] }],
      });
    const later = await cluster.until("changed", async () => {
      const all = await cluster.list(EndpointSlice);
      return all.length === 1 && all[0]?.ports?.[0]?.port === 81 && all;
    });
    assert.equal(later[0]?.metadata.name, v4?.metadata.name, "a slice is used again");
    await cluster.client
      .resource(Endpoints, { ignoreWarnings: true })
      .patch({ namespace: "d", name: "web" }, "merge", {
        metadata: { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
      });
    await cluster.until("not mirrored", async () => (await cluster.list(EndpointSlice)).length === 0);
  }));

test("mirroring: addresses over the maximum are named in an event", () =>
  withCluster(startBoth, async (cluster) => {
    await cluster.create(Service, service("web", { selector: undefined, ports: [{ port: 80 }] }));
    const addresses = Array.from({ length: 1003 }, (_, i) => ({ ip: `10.1.${i >> 8}.${i & 255}` }));
    await cluster.create(Endpoints, handWritten([{ addresses, ports: [{ port: 80 }] }]));
    const events = await cluster.until("event", async () => {
      const all = await cluster.list(Event);
      return all.length > 0 && all;
    });
    assert.equal(events[0]?.reason, "TooManyAddressesToMirror");
    assert.match(events[0]?.message ?? "", / 3 addresses were skipped/);
    assert.equal((await cluster.list(EndpointSlice))[0]?.endpoints?.length, 1000);
  }));
