import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf, type KubeObject } from "@dray/api";
import { lint } from "../lint/lint.ts";
import { servedBy } from "../lint/served.ts";
import { Selectors } from "../manifests/selectors.ts";
import { sourceOf } from "../manifests/source.ts";
import { World } from "../manifests/world.ts";
import { TrialServer } from "../trial-server/server.ts";
import { planWorld } from "./answer.ts";
import { claim, gpuClass, type Manifest, node, pod, slice, usesClaim } from "./testing.ts";

const features = featuresOf();
const place = { source: { file: "context c", text: "", lineOf: () => undefined }, root: "" };
const located = (object: Manifest) => {
  const { metadata, kind } = object as unknown as KubeObject;
  const namespaced = ["Pod", "ResourceClaim"].includes(kind);
  const own = {
    uid: `${kind}-${metadata.name}`,
    resourceVersion: "1",
    ...(namespaced && { namespace: "default" }),
  };
  return { place, object: { ...object, metadata: { ...own, ...metadata } } as unknown as KubeObject };
};

/** Values that no server sends, where the code expects lists. */
const odd: readonly Manifest[] = [
  { ...slice("b", 1), spec: { ...(slice("b", 1)["spec"] as object), devices: 5 } },
  pod("odd", { containers: "none" }),
];
const world = new World(
  [
    node("a"),
    slice("a", 1),
    gpuClass,
    claim("c", { allocationMode: "ExactCount", count: 1 }),
    pod("p", usesClaim("c")),
    ...odd,
  ].map(located),
);

test("plan leaves out objects that cannot be read, and plans the others", async () => {
  const { answer, faults } = await planWorld(world, { options: { features, now: () => 0 } });
  assert.deepEqual(faults.map(({ label }) => label).toSorted(), ["Pod default/odd", "ResourceSlice b-gpus"]);
  assert.deepEqual(
    answer.plan.pods.map(({ pod: { metadata }, status, node }) => [metadata.name, status, node]),
    [["p", "fits", "a"]],
  );
});

test("lint leaves out objects that cannot be read, and checks the others", async () => {
  const options = {
    features,
    namespace: "default",
    selectors: new Selectors(features),
    now: "2026-01-01T00:00:00Z",
  };
  const server = await TrialServer.start({ kubernetesVersion: features.version, featureGates: new Map() });
  try {
    const { findings } = await lint({
      sources: { sources: [sourceOf("in.json", JSON.stringify(claim("many", { count: 2 })))], problems: [] },
      cluster: { objects: world.objects, unreadable: new Set() },
      served: servedBy(features, {}),
      options,
      now: () => 0,
      server,
    });
    const brief = findings.map(({ rule, object, file }) => `${file} ${object} ${rule}`);
    assert.ok(brief.includes("in.json ResourceClaim default/many count-too-high"), brief.join("\n"));
    assert.ok(brief.includes("context c ResourceSlice b-gpus unreadable"), brief.join("\n"));
    assert.ok(
      brief.every((each) => /unreadable|count-too-high/.test(each)),
      brief.join("\n"),
    );
  } finally {
    await server.close();
  }
});
