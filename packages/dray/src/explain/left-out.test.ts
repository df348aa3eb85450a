import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@dray/api";
import { features, worldOf } from "../inventory/testing.ts";
import { World } from "../manifests/world.ts";
import { rightsOf } from "../observe/rights.ts";
import { claim, gpuClass, node, pod, slice, usesClaim } from "../plan/testing.ts";
import type { Explained, SubjectKind } from "./data.ts";
import { explainReadable } from "./explain.ts";
import { overviewOf } from "./overview.ts";
import { noSurroundings } from "./surroundings.ts";
import { now } from "./testing.ts";

const healthy = worldOf([
  node("a"),
  slice("a", 1),
  gpuClass,
  claim("c", { count: 2 }),
  pod("waits", usesClaim("c")),
]);
const { place } = healthy.objects[0]!;
const rights = rightsOf(["Pod"], []);

/** The cluster with an object whose fields have other types, as no server of this release sends it. */
function sceneWith(object: object) {
  const world = new World([...healthy.objects, { object: object as KubeObject, place }]);
  return { world, features, surroundings: noSurroundings, now };
}

const explained = (kind: SubjectKind, name: string, object: object): Promise<Explained> =>
  explainReadable({ kind, name, namespace: "default", source: "test" }, sceneWith(object), rights);

const metadata = { namespace: "default", name: "odd", uid: "odd" };
const oddPod = { apiVersion: "v1", kind: "Pod", metadata, spec: { resourceClaims: 5, nodeName: "a" } };
const oddSlice = {
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name: "odd" },
  spec: { pool: 7 },
};

test("an object that cannot be read is left out of the answer about others, and named", async () => {
  for (const [odd, label] of [
    [oddPod, "Pod default/odd"],
    [oddSlice, "ResourceSlice odd"],
  ] as const) {
    const found = await explained("Pod", "waits", odd);
    assert.equal(found.state, "waiting");
    assert.ok(found.placement !== null && found.placement.refusals.length > 0);
    assert.deepEqual(
      found.leftOut?.map(({ object }) => object),
      [label],
    );
    const all = await overviewOf(sceneWith(odd), {}, rights);
    assert.deepEqual(
      all.items.map(({ name }) => name),
      ["waits"],
    );
    assert.deepEqual(
      all.leftOut?.map(({ object }) => object),
      [label],
    );
  }
});

test("an object that cannot be read and is asked for is named with the reason", async () => {
  await assert.rejects(explained("Pod", "odd", oddPod), /Pod default\/odd cannot be read: /);
  await assert.rejects(explained("Pod", "nosuch", oddPod), /test: no Pod "nosuch" in namespace default/);
});
