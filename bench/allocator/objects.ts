/** Objects as an API server stores them, in short. */
import type { Node } from "@dray/api/core/v1";
import type { DeviceClaim, DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";

/** One question to both allocators: ours and the one of Kubernetes' own library. */
export interface Input {
  /** Names of the fields of structured.Features that are true. */
  readonly features: readonly string[];
  readonly nodes: readonly Node[];
  readonly claims: readonly ResourceClaim[];
  readonly classes: readonly DeviceClass[];
  readonly slices: readonly ResourceSlice[];
  /** `driver/pool/device`, held by other claims. */
  readonly held: readonly string[];
}

/** Features that are on by default in a cluster of release 1.37. */
export const defaultFeatures: readonly string[] = [
  "AdminAccess",
  "ConsumableCapacity",
  "DeviceBindingAndStatus",
  "DeviceTaints",
  "FractionalCapacityRange",
  "PartitionableDevices",
  "PrioritizedList",
];

export const driver = "gpu.example.com";
/** A standard attribute that devices have (KEP-4381). */
export const numa = "resource.kubernetes.io/numaNode";

const created = "2026-01-01T00:00:00Z";
const stored = (name: string) => ({ name, uid: name, resourceVersion: "1", creationTimestamp: created });

export function node(name: string): Node {
  const metadata = { ...stored(name), labels: { "kubernetes.io/hostname": name } };
  return { apiVersion: "v1", kind: "Node", metadata, spec: {} };
}

export function slice(name: string, spec: ResourceSlice["spec"]): ResourceSlice {
  return { apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: stored(name), spec };
}

export function deviceClass(name: string, expression: string): DeviceClass {
  const spec = { selectors: [{ cel: { expression } }] };
  return { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: stored(name), spec };
}

export function claim(name: string, devices: DeviceClaim): ResourceClaim {
  const metadata = { ...stored(name), namespace: "default" };
  return { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata, spec: { devices } };
}

/** Returns the fields that a request and an alternative share. */
export function asking(count: number, expression?: string) {
  return {
    deviceClassName: "gpu",
    allocationMode: "ExactCount",
    count,
    ...(expression === undefined ? {} : { selectors: [{ cel: { expression } }] }),
  };
}

export const gpuClass: DeviceClass = deviceClass("gpu", `device.driver == "${driver}"`);

/** Is the attribute of the driver that text? */
export const is = (attribute: string, value: string): string =>
  `device.attributes["${driver}"].${attribute} == "${value}"`;
