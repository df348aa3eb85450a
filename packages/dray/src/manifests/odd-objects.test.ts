import assert from "node:assert/strict";
import { test } from "node:test";
import { deepFreeze, encodeJSON, type KubeObject } from "@dray/api";
import { withoutNulls } from "@dray/api/nulls";
import { kindRows } from "@dray/api/schema";
import { oddObject } from "@dray/testing/odd-objects";
import { Random, seedOr } from "@dray/testing/random";
import { diagnose } from "../doctor/doctor.ts";
import { ruleIds } from "../doctor/rules.ts";
import { explain } from "../explain/explain.ts";
import { noSurroundings } from "../explain/surroundings.ts";
import { Inventory } from "../inventory/inventory.ts";
import { features, worldOf } from "../inventory/testing.ts";
import { lint } from "../lint/lint.ts";
import { servedBy } from "../lint/served.ts";
import { rightsOf } from "../observe/rights.ts";
import { makePlan } from "../plan/plan.ts";
import { allocation, claim, gpuClass, node, pod, slice, usesClaim } from "../plan/testing.ts";
import { topData } from "../top/data.ts";
import { topText } from "../top/print.ts";
import { subjects } from "../top/subjects.ts";
import { TrialServer } from "../trial-server/server.ts";
import type { Located } from "./place.ts";
import { type Existing, readObjects } from "./read.ts";
import { Selectors } from "./selectors.ts";
import { sourceOf } from "./source.ts";
import { World, worldKind } from "./world.ts";

const now = Date.parse("2026-01-01T12:00:00Z");
const rounds = 20;
const names = ["odd-0", "odd-1", "a", "gpu", "default", "gpu.example.com", "gpu-0", "a/gpu-0"];

/** Thousands of pods would take minutes to plan. */
const fixed = {
  "apps/v1.DeploymentSpec.replicas": 2,
  "apps/v1.ReplicaSetSpec.replicas": 1,
  "apps/v1.StatefulSetSpec.replicas": 2,
  "batch/v1.JobSpec.parallelism": 2,
};

const healthy = worldOf([
  node("a"),
  slice("a", 2),
  gpuClass,
  claim("c", {}, { status: { allocation: allocation("a", "gpu-0") } }),
  pod("p", usesClaim("c", { nodeName: "a" })),
  claim("open"),
  pod("waits", usesClaim("open")),
]);

/** Two odd objects of each kind, as a server sends them. */
function oddTrees(random: Random): readonly KubeObject[] {
  const rows = kindRows.filter(
    (row) => worldKind({ apiVersion: `${row.group}/${row.version}`, kind: row.kind }) === row,
  );
  return rows.flatMap((row) =>
    ["odd-0", "odd-1"].map((name) => {
      const tree = oddObject(row, random, { names, fixed });
      const metadata = {
        ...((tree["metadata"] ?? {}) as object),
        name,
        uid: `${row.kind}-${name}`,
        resourceVersion: "1",
        creationTimestamp: "2026-01-01T00:00:00Z",
        namespace: row.namespaced ? "default" : null,
      };
      return deepFreeze({ ...tree, metadata }) as unknown as KubeObject;
    }),
  );
}

/** A cluster with objects as the client returns them. */
function worldWith(trees: readonly KubeObject[]): World {
  const { place } = healthy.objects[0]!;
  const odd = trees.map((object): Located => ({ object: withoutNulls(object, object), place }));
  return new World([...healthy.objects, ...odd]);
}

/** Reads the objects from a file: beside the cluster and without it. */
function fileAnswers(
  trees: readonly KubeObject[],
  world: World,
  server: TrialServer,
): Record<string, () => unknown> {
  const options = {
    features,
    namespace: "default",
    selectors: new Selectors(features),
    now: "2026-01-01T00:00:00Z",
  };
  const text = encodeJSON({ apiVersion: "v1", kind: "List", items: trees });
  const sources = { sources: [sourceOf("odd.json", text)], problems: [] };
  const existing = { objects: world.objects, unreadable: new Set<string>() };
  const lintWith = (cluster: Existing | undefined): Promise<unknown> =>
    lint({ sources, cluster, served: servedBy(features, {}), options, now: () => now, server });
  return {
    "plan of a file": () => makePlan(readObjects(sources, options).world, { features, now: () => now }),
    "lint of a file": () => lintWith(undefined),
    "lint beside a cluster": () => lintWith(existing),
  };
}

/** The answers of the tools, by name. */
function answers(world: World): Record<string, () => unknown> {
  const inventory = (): Inventory => new Inventory(world, features);
  const question = { namespace: "default", source: "test" };
  const scene = { world, features, surroundings: noSurroundings, now };
  const all = (["Pod", "ResourceClaim", "Node", "DeviceClass", "ResourceSlice"] as const).flatMap((kind) =>
    world.all(kind).map(({ object }) => ({ ...question, kind, name: object.metadata.name })),
  );
  return {
    plan: () => makePlan(world, { features, now: () => now }),
    doctor: () =>
      diagnose({ world, features, now, server: { release: "1.37", served: ["v1"] } }, new Set(ruleIds)),
    ...Object.fromEntries(
      subjects.map((what) => [`top ${what}`, () => topText(topData(what, inventory()), now)]),
    ),
    ...Object.fromEntries(
      all.map((each) => [
        `explain ${each.kind} ${each.name}`,
        () => explain(each, scene, inventory(), rightsOf(["Pod"], [])),
      ]),
    ),
  };
}

test("plan, doctor, top, explain and lint answer whatever objects have in their fields", async () => {
  const seed = seedOr(20260728);
  const found = new Map<string, string>();
  const server = await TrialServer.start({
    kubernetesVersion: features.version,
    featureGates: new Map(),
  });
  try {
    for (let round = 0; round < rounds; round++) {
      const trees = oddTrees(new Random(seed + round));
      const world = worldWith(trees);
      const all = { ...answers(world), ...fileAnswers(trees, world, server) };
      for (const [tool, answer] of Object.entries(all)) {
        try {
          await answer();
        } catch (error) {
          const { stack = "", message } = error as Error;
          const at = stack.split("\n").find((line) => line.includes("/src/")) ?? "";
          found.set(`${message}${at}`, `DRAY_SEED=${seed + round} ${tool}: ${stack}`);
        }
      }
    }
  } finally {
    await server.close();
  }
  assert.deepEqual([...found.values()], []);
});
