import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Lease } from "@dray/api/coordination/v1";
import { Namespace } from "@dray/api/core/v1";
import { ResourceSlice } from "@dray/api/resource/v1";
import { type Client, silentLog, systemClock } from "@dray/client";
import { startApiServer, type TestApiServer } from "@dray/testing/api-server";
import { eventually } from "@dray/testing/eventually";
import {
  type Pool,
  PoolError,
  type PublishPoolsOptions,
  publishPools,
  type SliceStatistics,
} from "../index.ts";
import { fixture } from "../testing/internal/fixture.ts";
import { lamps } from "../testing/internal/smallest.ts";

let server: TestApiServer;
let client: Client;
let driver = "";
let count = 0;
before(async () => {
  server = await startApiServer();
  client = server.admin();
});
after(() => server.close());
beforeEach(() => {
  driver = `net-${++count}.example.com`;
});

const slices = async () =>
  (await client.resource(ResourceSlice).list()).items
    .filter(({ spec }) => spec.driver === driver)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));

const nodeSelector = {
  nodeSelectorTerms: [{ matchExpressions: [{ key: "rack", operator: "In", values: ["r1"] }] }],
} as const;

/** Publishes what the test gives, until it stops. */
function publishing(first: readonly Pool[], more: Partial<PublishPoolsOptions> = {}) {
  const stop = new AbortController();
  let next = (_: readonly Pool[]) => {};
  const published: SliceStatistics[] = [];
  const done = publishPools({
    name: driver,
    async *discover(signal) {
      yield first;
      while (!signal.aborted) {
        yield await new Promise<readonly Pool[]>((resolve) => {
          next = resolve;
        });
      }
    },
    client,
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
    onPublished: (statistics) => published.push(statistics),
    ...more,
  });
  return {
    done,
    published,
    publish: (pools: readonly Pool[]) => next(pools),
    async stop() {
      stop.abort();
      await done;
    },
  };
}

test("pools say which nodes reach them: by a selector, all, or each device for itself", async () => {
  const one = publishing([
    { name: "by-selector", devices: [{ name: "a" }], nodeSelector: nodeSelector as never },
    { name: "for-all", devices: [{ name: "b" }], allNodes: true },
    {
      name: "by-device",
      devices: [
        { name: "c", nodeName: "node-1" },
        { name: "d", allNodes: true },
        { name: "e", nodeSelector: nodeSelector as never },
      ],
    },
  ]);
  await eventually("all is published", () => one.published.length > 0);
  const found = await slices();
  assert.deepEqual(
    found
      .map(({ spec }) => [spec.pool.name, spec.nodeSelector, spec.allNodes, spec.perDeviceNodeSelection])
      .sort(),
    [
      ["by-device", undefined, undefined, true],
      ["by-selector", nodeSelector, undefined, undefined],
      ["for-all", undefined, true, undefined],
    ],
  );
  for (const { metadata, spec } of found) {
    assert.match(metadata.name, new RegExp(`^00000-${driver}-[a-z0-9]{5}$`));
    assert.equal(metadata.ownerReferences, undefined);
    assert.equal(spec.nodeName, undefined);
  }
  assert.deepEqual(one.published.at(-1), { creates: 3, updates: 0, deletes: 0 });
  await one.stop();
  assert.equal((await slices()).length, 3, "they stay");
});

test("an owner is named in the slices; slices of nodes and of other drivers are left alone", async () => {
  const foreign = async (name: string, ofDriver: string, place: object) => {
    const pool = { name: "x", generation: 1, resourceSliceCount: 1 };
    const spec = { driver: ofDriver, pool, devices: [], ...place };
    await client.resource(ResourceSlice).create({ metadata: { name }, spec } as never);
  };
  await foreign(`${driver}-local`, driver, { nodeName: "node-1" });
  await foreign(`${driver}-other`, "other.example.com", { allNodes: true });
  await foreign(`${driver}-own`, driver, { allNodes: true });
  const uid = (await client.resource(Namespace).get({ name: "default" })).metadata.uid;
  const owner = { apiVersion: "v1", kind: "Namespace", name: "default", uid };
  const one = publishing([{ name: "p", devices: [{ name: "a" }], allNodes: true }], { owner });
  await eventually("published", () => one.published.length > 0);
  const names = (await slices()).map(({ metadata }) => metadata.name);
  assert.equal(names.length, 2, String(names));
  assert.ok(names.includes(`${driver}-local`));
  const [slice] = (await slices()).filter(({ metadata }) => metadata.generateName !== undefined);
  assert.match(slice!.metadata.name, new RegExp(`^00000-${driver}-default-`));
  assert.deepEqual(slice!.metadata.ownerReferences, [{ ...owner, controller: true }]);
  assert.deepEqual(one.published.at(-1), { creates: 1, updates: 0, deletes: 1 });
  const others = (await client.resource(ResourceSlice).list()).items.map(({ metadata }) => metadata.name);
  assert.ok(others.includes(`${driver}-other`));
  await one.stop();
});

test("the generation that the driver asks for is a lower bound", async () => {
  const pool = (device: string, generation?: number): Pool => ({
    name: "p",
    devices: [{ name: device }],
    allNodes: true,
    ...(generation === undefined ? {} : { generation }),
  });
  const generation = async () => Number((await slices())[0]?.spec.pool.generation);
  const one = publishing([pool("a", 7)]);
  const after = async (publish: () => void) => {
    const before = one.published.length;
    publish();
    await eventually("published", () => one.published.length > before);
    return generation();
  };
  await eventually("published", () => one.published.length > 0);
  assert.equal(await generation(), 7);
  assert.equal(await after(() => one.publish([pool("a", 9)])), 9, "though nothing else has changed");
  assert.equal(await after(() => one.publish([pool("b", 3)])), 9, "one update keeps the generation");
  await one.stop();
});

test("of several instances the leader publishes; another takes over its slices as they are", async () => {
  const election = (identity: string) => ({
    election: {
      namespace: "default",
      identity,
      leaseDuration: 3000,
      renewDeadline: 2000,
      retryPeriod: 200,
    },
  });
  const pools = [{ name: "p", devices: [{ name: "a" }], allNodes: true }] as const;
  const first = publishing(pools, election("first"));
  await eventually("the first publishes", () => first.published.length > 0);
  const second = publishing(pools, election("second"));
  const [slice] = await slices();
  const holder = async () =>
    (await client.resource(Lease).get({ namespace: "default", name: driver })).spec.holderIdentity;
  assert.equal(await holder(), "first");
  assert.equal(second.published.length, 0);
  await first.stop();
  await eventually("the second publishes", () => second.published.length > 0);
  assert.equal(await holder(), "second");
  const after = await slices();
  assert.deepEqual(
    after.map(({ metadata }) => [metadata.uid, metadata.resourceVersion]),
    [[slice!.metadata.uid, slice!.metadata.resourceVersion]],
  );
  assert.deepEqual(second.published.at(-1), { creates: 0, updates: 0, deletes: 0 });
  await second.stop();
});

test("places that do not fit are errors of the pool", async () => {
  const device = { name: "a" };
  const cases: [Pool, RegExp][] = [
    [{ devices: [device], allNodes: true }, /: pools\[0\]\.name: required/],
    [{ name: "p", devices: [device] }, /must say which nodes reach the pool; there is nothing$/],
    [
      { name: "p", devices: [device], allNodes: true, nodeSelector: nodeSelector as never },
      /; there are nodeSelector and allNodes$/,
    ],
    [
      { name: "p", devices: [{ ...device, allNodes: true }, { name: "b" }] },
      /: device b must have exactly one of nodeName, nodeSelector and allNodes, since device a has one; it has none$/,
    ],
    [
      { name: "p", devices: [], allNodes: false as never },
      /: pools\[0\]\.allNodes: false must be true, or absent$/,
    ],
    [
      { name: "p", devices: [], allNodes: true, generation: -1 },
      /: pools\[0\]\.generation: -1 must be an integer from 0 on$/,
    ],
  ];
  for (const [pool, message] of cases) {
    const errors: Error[] = [];
    const one = publishing([pool], {
      onError(error) {
        errors.push(error);
        return "end";
      },
    });
    await assert.rejects(one.done, message);
    assert.ok(errors[0] instanceof PoolError);
  }
});

test("a node's driver gets an error for a pool of another node", async () => {
  const node = fixture();
  try {
    const errors: Error[] = [];
    const running = node.start({
      ...lamps,
      async *discover() {
        yield [{ devices: [{ name: "a", nodeName: "node-b" }] }];
      },
      onError(error) {
        errors.push(error);
        return "end";
      },
    });
    await assert.rejects(
      running.then(({ done }) => done),
      /^PoolError: nodeName of device a: the pools of runDriver are those of node node-a; publish .* with publishPools$/,
    );
  } finally {
    await node.close();
  }
});
