import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { featuresOf, newestKubernetesVersion } from "@dray/api";
import { Namespace } from "@dray/api/core/v1";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { startApiServer } from "@dray/testing/api-server";
import { deviceUsage } from "../index.ts";

const enabledAdmissionPlugins = ["UniqueDeviceAllocation"];
const driver = "gpu.example.com";
const namespace = "n";

/** A server with a GPU of 80Gi in three parts of 30Gi and a link that is shared, and claims `c0` to `c3`. */
async function withDevices(run: (client: Client) => Promise<void>): Promise<void> {
  const features = featuresOf(newestKubernetesVersion, new Map());
  const server = await startApiServer({
    enabledAdmissionPlugins,
    deviceUsage: await deviceUsage(features, randomUUID, enabledAdmissionPlugins),
  });
  const client = server.admin();
  const consumesCounters = [{ counterSet: "gpu", counters: { memory: { value: "30Gi" } } }];
  const publish = (name: string, spec: object): Promise<unknown> =>
    client.resource(ResourceSlice).create({
      metadata: { name },
      spec: {
        driver,
        nodeName: "n1",
        pool: { name: "n1", generation: 1, resourceSliceCount: 2 },
        ...spec,
      },
    } as never);
  try {
    await client.resource(Namespace).create({ metadata: { name: namespace }, spec: {} });
    await publish("counters", {
      sharedCounters: [{ name: "gpu", counters: { memory: { value: "80Gi" } } }],
    });
    await publish("devices", {
      devices: [
        ...[0, 1, 2].map((i) => ({ name: `part-${i}`, consumesCounters })),
        { name: "link", allowMultipleAllocations: true, capacity: { bandwidth: { value: "10" } } },
      ],
    });
    for (let i = 0; i < 4; i++)
      await client.resource(ResourceClaim).create({
        metadata: { name: `c${i}`, namespace },
        spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "c" } }] } },
      });
    await run(client);
  } finally {
    await server.close();
  }
}

/** Resolves to why the device is refused to the claim; undefined: the claim has it now. */
async function allocate(client: Client, name: string, device: object): Promise<string | undefined> {
  const results = [{ request: "r", driver, pool: "n1", ...device }];
  const status = { allocation: { devices: { results } } };
  try {
    await client
      .resource(ResourceClaim)
      .patch({ name, namespace }, "merge", { status }, { subresource: "status" });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const release = (client: Client, name: string): Promise<unknown> =>
  client
    .resource(ResourceClaim)
    .patch({ name, namespace }, "merge", { status: { allocation: null } }, { subresource: "status" });

const refusal = (claim: string, device: string, why: string): string =>
  `resourceclaims.resource.k8s.io "${claim}" is forbidden: device ${driver}/n1/${device} cannot be reserved for claim ${namespace}/${claim}: ${why}`;

test("of devices that take from the same counter no more are given than it has, whoever is first", () =>
  withDevices(async (client) => {
    const answers = await Promise.all(
      [0, 1, 2].map((i) => allocate(client, `c${i}`, { device: `part-${i}` })),
    );
    const lost = answers.findIndex((answer) => answer !== undefined);
    assert.equal(answers.filter((answer) => answer === undefined).length, 2);
    assert.equal(answers[lost], refusal(`c${lost}`, `part-${lost}`, "counter memory of set gpu is used up"));
    await release(client, `c${(lost + 1) % 3}`);
    assert.equal(await allocate(client, `c${lost}`, { device: `part-${lost}` }), undefined);
  }));

test("shares of a device take no more than its capacity, and what was refused takes nothing", () =>
  withDevices(async (client) => {
    const share = (claim: number, amount: string): Promise<string | undefined> =>
      allocate(client, `c${claim}`, {
        device: "link",
        shareID: `00000000-0000-4000-8000-00000000000${claim}`,
        consumedCapacity: { bandwidth: amount },
      });
    assert.equal(await share(0, "4"), undefined);
    assert.equal(await share(1, "4"), undefined);
    assert.equal(await share(2, "4"), refusal("c2", "link", "its capacity bandwidth is used up"));
    assert.equal(await share(3, "2"), undefined);
    await release(client, "c0");
    assert.equal(await share(2, "4"), undefined);
  }));
