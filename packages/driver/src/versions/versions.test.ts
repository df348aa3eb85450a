import assert from "node:assert/strict";
import { after, test } from "node:test";
import { decodeJSON, type Kind, StatusError } from "@dray/api";
import { Node } from "@dray/api/core/v1";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type Client, silentLog, systemClock } from "@dray/client";
import { startApiServer } from "@dray/testing/api-server";
import { skipClock } from "@dray/testing/clock";
import { eventually, holdsFor } from "@dray/testing/eventually";
import { claimStatusWriter, publishPools, setBindingConditions } from "../index.ts";
import { fixture, nodeName } from "../testing/internal/fixture.ts";
import { lamps } from "../testing/internal/smallest.ts";
import { withResourceVersions } from "./client.ts";

const device = {
  name: "lamp-0",
  attributes: { colour: { string: "red" } },
  capacity: { watts: { value: "40" } },
  taints: [{ key: "hot", effect: "NoSchedule" }],
};

/** A server that has only some versions of resource.k8s.io. */
async function serverWith(...wanted: string[]) {
  const all = ["v1", "v1beta2", "v1beta1"].map((version) => [
    `resource.k8s.io/${version}`,
    wanted.includes(version),
  ]);
  const server = await startApiServer({ runtimeConfig: Object.fromEntries(all) });
  after(() => server.close());
  return server.admin();
}

for (const version of ["v1beta2", "v1beta1"] as const) {
  test(`a server that has ${version} only: slices, claims, their status and binding conditions`, async () => {
    const client = await serverWith(version);
    const kindOf = <T extends object>(kind: T): T => ({ ...kind, version });
    await client.resource(Node).create({ metadata: { name: nodeName }, spec: {} } as never);
    const claims = client.resource(kindOf(ResourceClaim) as Kind<ResourceClaim>);
    const stored = (await claims.create(
      decodeJSON(
        JSON.stringify({
          metadata: { namespace: "default", name: "one" },
          spec: {
            devices: {
              requests: [
                version === "v1beta1"
                  ? { name: "lamp", deviceClassName: "lamps", count: 2 }
                  : { name: "lamp", exactly: { deviceClassName: "lamps", count: 2 } },
              ],
            },
          },
        }),
      ) as never,
    )) as ResourceClaim;
    const result = { request: "lamp", driver: lamps.name, pool: nodeName, device: "lamp-0" };
    const binding = { bindingConditions: ["Wired"], bindingFailureConditions: ["Broken"] };
    const allocation = { devices: { results: [{ ...result, ...binding }] } };
    const claim = await claims.update({ ...stored, status: { allocation } } as never, {
      subresource: "status",
    });

    const node = fixture();
    const stop = new AbortController();
    const controller = setBindingConditions({
      name: lamps.name,
      client,
      clock: systemClock,
      log: silentLog,
      signal: stop.signal,
      decide: async ({ spec }) => {
        assert.equal(spec.devices?.requests?.[0]?.exactly?.deviceClassName, "lamps", "it is a v1 claim");
        return { state: "Ready" };
      },
    });
    try {
      let published = 0;
      const clock = skipClock();
      await node.start(
        {
          ...lamps,
          async *discover() {
            yield [{ devices: [device] }];
          },
        },
        { client, clock, onPublished: () => void published++ },
      );
      await eventually("slices", () => published > 0);
      const [slice] = (await client.resource(kindOf(ResourceSlice) as Kind<ResourceSlice>).list()).items;
      const { taints, ...rest } = device;
      const found = slice!.spec.devices![0] as unknown as { basic?: object; taints?: object[] };
      const fields = (version === "v1beta1" ? found.basic : found) as Record<string, unknown>;
      assert.deepEqual(fields["attributes"], rest.attributes);
      assert.deepEqual((fields["taints"] as { key: string }[])[0]?.key, taints[0]!.key);
      assert.equal(found.basic !== undefined, version === "v1beta1");
      // The stored slice equals the desired one: the driver does not write again.
      const { resourceVersion } = slice!.metadata;
      for (let looks = 0; looks < 3; looks++) {
        // The publisher repairs a slice after a second.
        clock.skip(2_000);
        const isSame = async (): Promise<boolean> => {
          const [again] = (await client.resource(kindOf(ResourceSlice) as Kind<ResourceSlice>).list()).items;
          return again!.metadata.resourceVersion === resourceVersion;
        };
        await holdsFor("nothing is written", isSame, 50);
      }

      assert.equal((await node.prepare(claim))[claim.metadata.uid]?.error, "");
      await claimStatusWriter({ client, driver: lamps.name, clock: systemClock }).write(claim.metadata, [
        { device: result, data: { watts: 40 } },
      ]);
      const status = async () => (await claims.get(claim.metadata)).status?.devices?.[0];
      const conditions: readonly { type: string; status?: string }[] = await eventually(
        "conditions",
        async () => (await status())?.conditions,
      );
      assert.deepEqual(
        conditions.map((one) => [one.type, one.status]),
        [["Wired", "True"]],
      );
      assert.deepEqual((await status())?.data, { watts: 40 });
      assert.deepEqual((await claims.get(claim.metadata)).spec, stored.spec, "the spec is as it was");
    } finally {
      stop.abort();
      await controller;
      await node.close();
    }
  });
}

test("the newest version that the server has is used; others are what they are", async () => {
  const plain = await serverWith("v1", "v1beta1", "v1beta2");
  const client = withResourceVersions(plain, systemClock);
  assert.equal(withResourceVersions(plain, systemClock), client, "asked for once");
  const claim = await client.resource(ResourceClaim).create({
    metadata: { namespace: "default", name: "one" },
    spec: {
      devices: {
        requests: [{ name: "a", firstAvailable: [{ name: "b", deviceClassName: "lamps" }] }],
      },
    },
  } as never);
  assert.equal(claim.apiVersion, "resource.k8s.io/v1");
  const old = await plain.resource({ ...ResourceClaim, version: "v1beta1" }).get(claim.metadata);
  assert.equal(old.apiVersion, "resource.k8s.io/v1beta1");
});

test("a claim of v1beta1 keeps alternatives and every field of a request", async () => {
  const client = withResourceVersions(await serverWith("v1beta1"), systemClock);
  const spec = {
    devices: {
      requests: [
        { name: "a", firstAvailable: [{ name: "b", deviceClassName: "lamps" }] },
        {
          name: "c",
          exactly: {
            deviceClassName: "lamps",
            allocationMode: "ExactCount",
            count: 2,
            selectors: [{ cel: { expression: "true" } }],
          },
        },
      ],
    },
  };
  const created = await client.resource(ResourceClaim).create({
    metadata: { namespace: "default", name: "one" },
    spec,
  } as never);
  assert.equal(created.apiVersion, "resource.k8s.io/v1");
  assert.deepEqual(created.spec.devices?.requests?.[1], spec.devices.requests[1]);
  assert.equal(created.spec.devices?.requests?.[0]?.firstAvailable?.[0]?.deviceClassName, "lamps");
  assert.deepEqual((await client.resource(ResourceClaim).get(created.metadata)).spec, created.spec);
});

test("a version that the server loses is looked for once more, and no more than that", async () => {
  const asked: string[] = [];
  let served = ["v1"];
  const fake = {
    text: async () => {
      asked.push("discovery");
      return JSON.stringify({ versions: served.map((version) => ({ version })) });
    },
    resource: ({ version }: Kind) => ({
      async get(ref: { name: string }) {
        asked.push(version);
        if (!served.includes(version)) throw StatusError.of("NotFound", "no such path");
        if (ref.name === "gone") throw StatusError.of("NotFound", "not found", { name: "gone" });
        return { apiVersion: `resource.k8s.io/${version}`, metadata: ref, spec: {} };
      },
    }),
  } as unknown as Client;
  const slices = withResourceVersions(fake, systemClock).resource(ResourceSlice);
  await slices.get({ name: "a" });
  await assert.rejects(slices.get({ name: "gone" }));
  assert.deepEqual(asked.splice(0), ["discovery", "v1", "v1"]);
  served = ["v1beta1"];
  assert.equal((await slices.get({ name: "a" })).apiVersion, "resource.k8s.io/v1");
  assert.deepEqual(asked, ["v1", "discovery", "v1beta1"]);
});

test("an error about a server without the API names its versions and the needed ones", async () => {
  const client = await serverWith();
  const run = publishPools({
    name: "net.example.com",
    async *discover() {
      yield [];
    },
    client,
    clock: systemClock,
    log: silentLog,
    signal: new AbortController().signal,
  });
  await assert.rejects(
    run,
    /^NoResourceApiError: the API server has .*; a driver needs one of v1, v1beta2, v1beta1 \(Kubernetes 1\.32/,
  );
});
