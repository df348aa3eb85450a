import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap, Namespace, Node } from "@dray/api/core/v1";
import { ResourceSlice } from "@dray/api/resource/v1";
import { type Client, type Log, systemClock } from "@dray/client";
import { startApiServer } from "@dray/testing/api-server";
import { eventually } from "@dray/testing/eventually";
import { healthConfigMap, healthNamespace, readFleet, runSimulation } from "../index.ts";

const driver = "gpu.example.com";
const fleetText = `
apiVersion: dray.dev/v1alpha1
kind: Fleet
nodes:
  - pattern: "s-*"
    drivers:
      - driver: ${driver}
        pools: [{ devices: [{ name: "gpu-{index}", count: 2, attributes: { rack: "r{nodeIndex}" } }] }]
`;

interface Published {
  readonly client: Client;
  readonly log: readonly string[];
  slices(node?: string): Promise<readonly ResourceSlice[]>;
}

/** Publishes the devices of s-0, s-1 and so on. */
async function publishing(count: number, run: (published: Published) => Promise<void>): Promise<void> {
  const server = await startApiServer();
  const client = server.admin();
  const lines: string[] = [];
  const write = (fields: object, message: string): void =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug() {}, info() {}, warn: write, error: write };
  await client.resource(Namespace).create({ metadata: { name: healthNamespace }, spec: {} });
  const nodes = Array.from({ length: count }, (_, i) => `s-${i}`);
  const fleet = readFleet([{ file: "fleet.yaml", text: fleetText }], { simulatedNodes: nodes });
  const stop = new AbortController();
  const done = runSimulation({
    ...{ fleet, nodes: [], publishedNodes: nodes, client, clock: systemClock, log },
    signal: stop.signal,
  });
  try {
    await run({
      client,
      log: lines,
      slices: async (node) =>
        (await client.resource(ResourceSlice).list()).items.filter(
          ({ spec }) => node === undefined || spec.nodeName === node,
        ),
    });
  } finally {
    stop.abort();
    await done;
    await server.close();
  }
}

const createNode = (client: Client, name: string): Promise<Node> =>
  client.resource(Node).create({ metadata: { name }, spec: {} });

test("devices of nodes without kubelets are published once their Node is there, which owns them", () =>
  publishing(3, async ({ client, slices }) => {
    await createNode(client, "s-0");
    const { metadata } = await createNode(client, "s-2");
    const all = await eventually("slices of two nodes", async () => {
      const found = await slices();
      return found.length === 2 && found;
    });
    const slice = all.find(({ spec }) => spec.nodeName === "s-2")!;
    assert.deepEqual(slice.metadata.ownerReferences, [
      { apiVersion: "v1", kind: "Node", name: "s-2", uid: metadata.uid, controller: true },
    ]);
    const { pool, devices = [] } = slice.spec;
    assert.deepEqual([pool.name, pool.resourceSliceCount], ["s-2", 1]);
    assert.deepEqual(
      devices.map((device) => [device.name, device.attributes?.["rack"]?.string]),
      [
        ["gpu-0", "r2"],
        ["gpu-1", "r2"],
      ],
      "nodes of a pattern are counted",
    );
  }));

test("restores deleted and changed slices; slices of other drivers are left alone", () =>
  publishing(1, async ({ client, slices }) => {
    await createNode(client, "s-0");
    const [first] = await eventually("the slice", async () => {
      const found = await slices();
      return found.length === 1 && found;
    });
    const other = { driver: "other.example.com", nodeName: "s-0" };
    const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
    await client.resource(ResourceSlice).create({
      metadata: { name: "other" },
      spec: { ...other, pool, devices: [{ name: "d" }] },
    });
    await client.resource(ResourceSlice).update({ ...first!, spec: { ...first!.spec, devices: [] } });
    await eventually("the devices are back", async () => {
      const own = (await slices()).filter(({ spec }) => spec.driver === driver);
      return own.length === 1 && own[0]!.spec.devices?.length === 2;
    });
    const [now] = (await slices()).filter(({ spec }) => spec.driver === driver);
    await client.resource(ResourceSlice).delete({ name: now!.metadata.name });
    await eventually("the slice is back", async () => (await slices()).length === 2);
    assert.equal((await slices()).filter(({ metadata }) => metadata.name === "other").length, 1);
  }));

test("a device that a person breaks has its taint in the slice of its node, until it is healed", () =>
  publishing(2, async ({ client, slices, log }) => {
    for (const name of ["s-0", "s-1"]) await createNode(client, name);
    await eventually("the slices", async () => (await slices()).length === 2);
    const record = healthConfigMap({
      ...{ driver, pool: "s-1", device: "gpu-1" },
      ...{ health: "Unhealthy", since: Date.now() },
    });
    const maps = client.resource(ConfigMap);
    const map = await maps.create(record);
    const taints = async (node: string): Promise<(string | undefined)[]> =>
      (await slices(node)).flatMap(({ spec }) =>
        (spec.devices ?? []).map(({ taints = [] }) => taints.map(({ key }) => key).join()),
      );
    await eventually("the taint", async () => (await taints("s-1")).join() === `,${driver}/unhealthy`);
    assert.deepEqual(await taints("s-0"), ["", ""]);
    await maps.delete({ namespace: healthNamespace, name: map.metadata.name });
    await eventually("the taint is gone", async () => (await taints("s-1")).join() === ",");
    assert.deepEqual(log, []);
  }));
