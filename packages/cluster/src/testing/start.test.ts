import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaimTemplate, ResourceSlice } from "@dray/api/resource/v1";
import { createClient, httpsTransport, loadKubeconfig, silentLog, systemClock } from "@dray/client";
import { type Driver, runDriver } from "@dray/driver";
import { eventually } from "@dray/testing/eventually";
import { startCluster, type TestCluster } from "./index.ts";

async function phaseOf({ client }: TestCluster, name: string, wanted: string): Promise<Pod> {
  return eventually(`pod ${name} is ${wanted}`, async () => {
    const pod = await client.resource(Pod).get({ namespace: "default", name });
    return pod.status?.phase === wanted && pod;
  });
}

const lamps: Driver = {
  name: "lamp.example.com",
  async *discover() {
    yield [{ devices: [{ name: "lamp-0" }] }];
  },
  async prepare({ devices }) {
    return devices.map((device) => ({ device, edits: { env: [`LAMP=${device.result.device}`] } }));
  },
  async unprepare() {},
};

test("a cluster in one call: a driver under test, a pod with its device, and nothing left", async () => {
  const cluster = await startCluster();
  const [node] = cluster.nodes;
  assert.ok(node);
  assert.ok(existsSync(join(node.root, "run/nri/nri.sock")), "the node serves NRI, as those of dray up do");
  const stop = new AbortController();
  const driver = runDriver(lamps, {
    ...node,
    client: cluster.client,
    nodeName: node.name,
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
  });
  await cluster.client.resource(DeviceClass).create({
    metadata: { name: "lamps" },
    spec: { selectors: [{ cel: { expression: 'device.driver == "lamp.example.com"' } }] },
  });
  await cluster.client.resource(ResourceClaimTemplate).create({
    metadata: { name: "lamp", namespace: "default" },
    spec: { spec: { devices: { requests: [{ name: "lamp", exactly: { deviceClassName: "lamps" } }] } } },
  });
  await cluster.client.resource(Pod).create({
    metadata: { name: "reader", namespace: "default" },
    spec: {
      restartPolicy: "Never",
      resourceClaims: [{ name: "lamp", resourceClaimTemplateName: "lamp" }],
      containers: [
        {
          name: "main",
          image: "host",
          command: ["sh", "-c", '[ "$LAMP" = lamp-0 ]'],
          resources: { claims: [{ name: "lamp" }] },
        },
      ],
    },
  });
  await phaseOf(cluster, "reader", "Succeeded");
  assert.equal((await cluster.client.resource(ResourceSlice).list()).items.length, 1);

  // The file is for other programs.
  const { connection } = await loadKubeconfig({ file: cluster.kubeconfig });
  const outside = createClient({ transport: httpsTransport(connection), userAgent: "test" });
  assert.equal((await outside.resource(Pod).list({ namespace: "default" })).items.length, 1);
  outside.close();

  stop.abort();
  await driver;
  await cluster.stop();
  await cluster.stop();
  assert.equal(existsSync(dirname(dirname(cluster.kubeconfig))), false);
  assert.equal(existsSync(node.root), false);
});

test("several beside each other, of other releases, without nodes", async () => {
  const clusters = await Promise.all(
    ["1.34", "1.37"].map((kubernetesVersion) => startCluster({ kubernetesVersion, nodes: 0 })),
  );
  for (const [index, cluster] of clusters.entries()) {
    await using stopped = cluster;
    assert.deepEqual(stopped.nodes, []);
    const version = JSON.parse(await stopped.client.text("GET", "/version")) as { minor: string };
    assert.equal(version.minor, ["34", "37"][index]);
    // Controllers run too.
    await eventually("a service account", async () => {
      const { items } = await stopped.client.resource(ServiceAccount).list({ namespace: "default" });
      return items.length === 1;
    });
  }
});

test("rejects invalid options and leaves nothing behind", async () => {
  await assert.rejects(startCluster({ nodes: -1 }), {
    message: "nodes: -1 must be a whole number, 0 or more",
  });
  await assert.rejects(startCluster({ kubernetesVersion: "1.2" }), /supported are 1\.34/);
});
