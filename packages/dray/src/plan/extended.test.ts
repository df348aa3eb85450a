import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf, type KubeObject } from "@dray/api";
import type { MissingRight } from "../manifests/live.ts";
import { World } from "../manifests/world.ts";
import { checkRights } from "./rights.ts";
import {
  claim,
  gpuClass,
  type Manifest,
  node,
  plain,
  planFile,
  planned,
  pod,
  slice,
  usesClaim,
} from "./testing.ts";

const extendedClass: Manifest = {
  ...gpuClass,
  spec: { ...(gpuClass["spec"] as object), extendedResourceName: "example.com/gpu" },
};
const asks = (resource: string, count: string): object =>
  plain({}, { requests: { [resource]: count }, limits: { [resource]: count } });

test("shows the devices that extended resources get", async () => {
  const objects = [
    node("a"),
    slice("a", 3),
    extendedClass,
    pod("named", asks("example.com/gpu", "2")),
    pod("implicit", asks("deviceclass.resource.kubernetes.io/gpu", "1")),
    pod("late", asks("example.com/gpu", "1")),
  ];
  const { data, devices } = await planned(objects);
  assert.deepEqual(devices, { named: ["a/gpu-0", "a/gpu-1"], implicit: ["a/gpu-2"], late: [] });
  const [{ claims }] = data.pods as [(typeof data.pods)[0]];
  assert.deepEqual(
    claims.map(({ podClaim }) => podClaim),
    [null],
  );
  assert.match(claims[0]!.name, /^named-extended-resources-.{5}$/);
});

test("shows what devices add to the requests of a pod, and counts it", async () => {
  const device = {
    name: "gpu-0",
    nodeAllocatableResources: { cpu: { overhead: { perPod: "2", perContainer: "500m" } } },
  };
  const objects = [
    node("a", { allocatable: { cpu: "4" } }),
    slice("a", [device]),
    gpuClass,
    claim("c"),
    pod("one", usesClaim("c")),
    pod("two", plain({}, { requests: { cpu: "2" } })),
  ];
  const gate = ["--feature-gates", "DRANodeAllocatableResources=true"];
  const [text, on, off] = await Promise.all([
    planFile(objects, ...gate),
    planned(objects, ...gate),
    planned(objects.with(1, slice("a", 1))),
  ]);
  assert.match(
    text.stdout,
    /\ndefault\/one +fits +a +gpu\.example\.com\/a\/gpu-0, and of the node cpu 2500m\n/,
  );
  assert.deepEqual(
    on.data.pods.map(({ claimResources }) => claimResources),
    [{ cpu: "2500m" }, {}],
  );
  assert.deepEqual(
    [on.nodes, off.nodes],
    [
      { one: "a", two: null },
      { one: "a", two: "a" },
    ],
  );
});

test("needs the rights to read devices for extended resources that devices may serve", () => {
  const place = { source: { file: "", text: "", lineOf: () => undefined }, root: "" };
  const rightsFor = (
    objects: readonly object[],
    unreadable: readonly string[],
    version: "1.35" | "1.37" = "1.37",
  ): string => {
    const missing = unreadable.map((kind): MissingRight => ({ verb: "list", resource: kind, kind }));
    const world = new World(
      objects.map((object) => {
        const { metadata } = object as KubeObject;
        return {
          place,
          object: { ...object, metadata: { namespace: "default", ...metadata } } as KubeObject,
        };
      }),
      new Set(unreadable),
    );
    try {
      return checkRights({ name: "c", missing }, world, featuresOf(version)).length > 0
        ? "warning"
        : "nothing";
    } catch (error) {
      return /list (\w+)$/m.exec((error as Error).message)?.[1] ?? "";
    }
  };
  const waits = pod("p", asks("example.com/gpu", "1"));
  const withPlugin = node("a", { allocatable: { "example.com/gpu": "4" } });
  assert.equal(rightsFor([node("a"), extendedClass, waits], ["ResourceSlice"]), "ResourceSlice");
  assert.equal(rightsFor([node("a"), gpuClass, waits], ["ResourceSlice"]), "warning");
  assert.equal(rightsFor([node("a"), waits], ["DeviceClass"]), "DeviceClass");
  assert.equal(rightsFor([withPlugin, waits], ["DeviceClass"]), "warning");
  assert.equal(rightsFor([node("a"), waits], ["DeviceClass"], "1.35"), "warning");
  assert.equal(rightsFor([node("a"), pod("p", plain())], ["DeviceClass"]), "warning");
});
