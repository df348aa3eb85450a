/**
 * Two schedulers and the controllers on one API server, in what order chance has it: the choices come of a
 * seed.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { Random, seedOr } from "@dray/testing/random";
import { broken } from "./chaos/checks.ts";
import {
  claimSpec,
  everything,
  extendedResource,
  namespace,
  RaceCluster,
  requests,
} from "./races/cluster.ts";

const shared = ["shared-0", "shared-1", "shared-2"];
const steps = 60;
const templates = Object.keys(requests);

function pod(random: Random, name: string, schedulerName: string): object {
  const metadata = { name, namespace, ...(random.chance(0.2) && { labels: { ends: "yes" } }) };
  const spec = { schedulerName, restartPolicy: "Never" };
  if (random.chance(0.15)) {
    const resources = { limits: { [extendedResource]: "1" } };
    return { metadata, spec: { ...spec, containers: [{ name: "c", image: "i", resources }] } };
  }
  const own = random.chance(0.35)
    ? { resourceClaimName: random.pick(shared) }
    : { resourceClaimTemplateName: random.pick(templates) };
  const more = random.chance(0.3)
    ? [{ name: "more", resourceClaimTemplateName: random.pick(templates) }]
    : [];
  return {
    metadata,
    spec: {
      ...spec,
      containers: [{ name: "c", image: "i" }],
      resourceClaims: [{ name: "own", ...own }, ...more],
    },
  };
}

/** One step of the disturbance. */
async function disturb(cluster: RaceCluster, random: Random, number: number): Promise<void> {
  const { client, schedulerNames } = cluster;
  const [pods, claims] = [client.resource(Pod), client.resource(ResourceClaim)];
  const chosen = random.below(100);
  if (chosen < 50) {
    // Several at once compete.
    const burst = Array.from({ length: 1 + random.below(4) }, (_, i) =>
      pod(random, `p${number}-${i}`, random.pick(schedulerNames)),
    );
    await Promise.all(burst.map((one) => cluster.create(Pod, one)));
  } else if (chosen < 62) {
    const name = random.pick(shared);
    const spec = claimSpec(requests[random.pick(templates)]!);
    await cluster.attempt(() => cluster.create(ResourceClaim, { metadata: { name, namespace }, spec }));
  } else if (chosen < 84) {
    const names = (await cluster.pods()).map(({ metadata }) => metadata.name);
    const gracePeriodSeconds = random.pick([0, 30]);
    if (names.length === 0) return;
    const name = random.pick(names);
    await cluster.attempt(() => pods.delete({ namespace, name }, { gracePeriodSeconds }));
  } else if (chosen < 94) {
    const names = (await cluster.claims()).map(({ metadata }) => metadata.name);
    if (names.length > 0) await cluster.attempt(() => claims.delete({ namespace, name: random.pick(names) }));
  } else await cluster.startScheduler(random.pick(["first", "second"]));
}

/** Returns the invariants that are violated now. Claims are read between two reads of the pods. */
async function wrong(cluster: RaceCluster): Promise<string[]> {
  const before = await cluster.pods();
  const [claims, slices] = [await cluster.claims(), await cluster.slices()];
  const after = new Map(
    (await cluster.pods()).map(({ metadata }) => [metadata.uid, metadata.resourceVersion]),
  );
  const pods = before.filter(({ metadata }) => after.get(metadata.uid) === metadata.resourceVersion);
  return broken({ pods, claims, slices }, cluster.schedulerNames.length === 1);
}

async function until(cluster: RaceCluster, what: string, look: () => Promise<string[]>): Promise<void> {
  let left: string[] = [];
  for (let tries = 0; tries < 600; tries++) {
    left = await look();
    if (left.length === 0) return;
    await cluster.kubelets();
    await cluster.pass(250);
  }
  assert.fail(`${what}: ${left.join("\n")}`);
}

/** Pods and claims go, and no claim keeps a device. */
async function comesToRest(cluster: RaceCluster): Promise<void> {
  const { client } = cluster;
  await client.resource(Pod).deleteCollection({ namespace });
  await client.resource(ResourceClaim).deleteCollection({ namespace });
  await until(cluster, "everything goes", async () => [
    ...(await cluster.pods()).map(({ metadata, status }) => `pod ${metadata.name} is ${status?.phase}`),
    ...(await cluster.claims()).map(
      ({ metadata, status }) => `claim ${metadata.name}: ${JSON.stringify({ metadata, status })}`,
    ),
  ]);
}

/** A pod on each node takes all that there is. */
async function takeEverything(cluster: RaceCluster, schedulerName: string): Promise<void> {
  for (const name of cluster.nodes) {
    await cluster.create(ResourceClaim, { metadata: { name, namespace }, spec: everything(name) });
    const spec = {
      schedulerName,
      nodeSelector: { "kubernetes.io/hostname": name },
      containers: [{ name: "c", image: "i" }],
      resourceClaims: [{ name: "all", resourceClaimName: name }],
    };
    await cluster.create(Pod, { metadata: { name, namespace }, spec });
  }
  await until(cluster, `scheduler ${schedulerName} has every device`, async () =>
    (await cluster.pods())
      .filter(({ status }) => status?.phase !== "Running")
      .map(({ metadata, status }) => `${metadata.name}: ${JSON.stringify(status)}`),
  );
}

async function race(seed: number): Promise<void> {
  const random = new Random(seed);
  const names: [string, string] =
    seed % 2 === 0 ? ["default-scheduler", "other"] : ["default-scheduler", "default-scheduler"];
  const cluster = new RaceCluster(random, names);
  await cluster.start();
  try {
    for (let number = 0; number < steps; number++) {
      await disturb(cluster, random, number);
      if (random.chance(0.6)) await cluster.kubelets();
      await cluster.pass(random.below(400));
      assert.deepEqual(await wrong(cluster), [], `step ${number}`);
    }
    await comesToRest(cluster);
    for (const name of cluster.schedulerNames) {
      await takeEverything(cluster, name);
      assert.deepEqual(await wrong(cluster), []);
      await comesToRest(cluster);
    }
  } finally {
    await cluster.stop();
  }
}

const first = seedOr(1);
for (let seed = first; seed < first + 4; seed++)
  test(`two schedulers fight for the last devices, seed ${seed}: none is given twice, and all are free in the end`, () =>
    race(seed));
