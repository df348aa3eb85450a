import type { Node } from "@dray/api/core/v1";
import type { DeviceClaim, DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";

/** The driver of most devices. */
export const driver = "gpu.test";
/** The attribute of constraints. */
export const numa = `${driver}/numa`;

export function makeNode(name: string, labels: Record<string, string> = {}): Node {
  const metadata = {
    name,
    uid: name,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels,
  };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata,
    spec: {},
    status: { declaredFeatures: ["DRAOptionalNodeOperations"] },
  };
}

export const nodes: readonly Node[] = [makeNode("node-1", { zone: "a" }), makeNode("node-2", { zone: "b" })];

export function makeSlice(name: string, spec: ResourceSlice["spec"]): ResourceSlice {
  const metadata = { name, uid: name, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
  return { apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata, spec };
}

export function makeClass(name: string, spec: DeviceClass["spec"]): DeviceClass {
  const metadata = { name, uid: name, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
  return { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata, spec };
}

export function makeClaim(name: string, devices: DeviceClaim): ResourceClaim {
  const metadata = {
    name,
    namespace: "default",
    uid: name,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  return { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata, spec: { devices } };
}

export const classes: readonly DeviceClass[] = [
  makeClass("any", { config: [{ opaque: { driver, parameters: { class: "any" } } }] }),
  makeClass("gpu", { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] }),
  // Fails on devices without the attribute, of any driver.
  makeClass("strict", {
    selectors: [{ cel: { expression: `device.attributes["${driver}"].model != "z"` } }],
  }),
];
