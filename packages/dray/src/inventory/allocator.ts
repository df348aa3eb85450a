import { type Allocator, allocatorFeatures, createAllocator } from "@dray/allocator";
import type { Features } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { DeviceClass } from "@dray/api/resource/v1";
import type { DeviceEnvironment } from "@dray/cel";
import type { World } from "../manifests/world.ts";

/**
 * A class that selects every device: a device that it does not get is unavailable to all. No object can have
 * this name.
 */
export const anyDevice = "*";

const anyClass: DeviceClass = {
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceClass",
  metadata: {
    name: anyDevice,
    uid: anyDevice,
    resourceVersion: "1",
    creationTimestamp: "1970-01-01T00:00:00Z",
  },
  spec: {},
};

/** Creates an allocator with the whole cluster and `anyDevice`. */
export function allocatorOf(world: World, features: Features, environment?: DeviceEnvironment): Allocator {
  let shares = 0;
  const allocator = createAllocator({
    features: allocatorFeatures(features),
    ...(environment !== undefined && { environment }),
    newId: () => `00000000-0000-4000-8000-${String(shares++).padStart(12, "0")}`,
  });
  const deleted = false;
  for (const { object } of world.all("DeviceClass")) allocator.update({ kind: "class", object, deleted });
  allocator.update({ kind: "class", object: anyClass, deleted });
  if (features.enabled("DRADeviceTaintRules"))
    for (const { object } of world.all("DeviceTaintRule"))
      allocator.update({ kind: "rule", object, deleted });
  for (const { object } of world.all("ResourceSlice")) allocator.update({ kind: "slice", object, deleted });
  for (const { object } of world.all("ResourceClaim")) allocator.update({ kind: "claim", object, deleted });
  return allocator;
}

/** Key of the taint of cordoned nodes. */
export const cordonTaint = "node.kubernetes.io/unschedulable";

/**
 * Returns the nodes for new pods: those that are neither cordoned nor broken. Other taints can be tolerated.
 */
export function openNodes(world: World): Node[] {
  return world
    .all("Node")
    .map(({ object }) => object)
    .filter(({ spec }) => closedReason(spec) === undefined)
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Returns why new pods cannot go to a node; undefined: some can. */
export function closedReason({ unschedulable, taints }: Node["spec"]): string | undefined {
  const broken = taints?.find(
    ({ key, effect }) => key.startsWith("node.kubernetes.io/") && effect !== "PreferNoSchedule",
  );
  if (unschedulable === true) return "it is cordoned";
  return broken === undefined ? undefined : `it has the taint ${broken.key}:${broken.effect}`;
}
