import type { Manifest } from "./manifest.ts";
import { fieldOf, textOf } from "./nodes.ts";

/** The devices of an extended resource in DRA. */
export interface DeviceKind {
  readonly deviceClass: string;
  /** A CEL expression that selects devices of the class. */
  readonly selector?: string;
}

/**
 * Extended resources of whole devices whose drivers have a DeviceClass: github.com/NVIDIA/k8s-dra-driver-gpu,
 * github.com/ROCm/k8s-gpu-dra-driver, github.com/intel/intel-resource-drivers-for-kubernetes.
 */
const wholeDevices: ReadonlyMap<string, string> = new Map([
  ["nvidia.com/gpu", "gpu.nvidia.com"],
  ["amd.com/gpu", "gpu.amd.com"],
  ["gpu.intel.com/i915", "gpu.intel.com"],
  ["gpu.intel.com/xe", "gpu.intel.com"],
]);

/** Names of GPUs shared by time-slicing or MPS, which claims cannot express. */
const shared = /\.shared$/;

/**
 * An extended resource: a name with a domain other than Kubernetes' own (IsExtendedResourceName upstream).
 */
export const isExtendedResource = (name: string): boolean =>
  /^[^/]+\/[^/]+$/.test(name) && !name.startsWith("requests.") && !/(?:^|\.)kubernetes\.io\//.test(name);

/** The classes for extended resources: those of the user, of the input, and the well-known ones. */
export class ExtendedResources {
  readonly #classes: Map<string, string>;

  constructor(manifests: readonly Manifest[], given: ReadonlyMap<string, string>) {
    this.#classes = new Map();
    for (const manifest of manifests) {
      const name = textOf(fieldOf(manifest.map, "spec", "extendedResourceName"));
      if (manifest.kind === "DeviceClass" && name !== undefined) this.#classes.set(name, manifest.name);
    }
    for (const [name, deviceClass] of given) this.#classes.set(name, deviceClass);
  }

  /** Undefined: no class is known. */
  kindOf(resource: string): DeviceKind | undefined {
    const known = this.#classes.get(resource) ?? wholeDevices.get(resource);
    if (known !== undefined) return { deviceClass: known };
    const profile = /^nvidia\.com\/mig-(.+)$/.exec(resource)?.[1];
    if (profile === undefined || shared.test(resource)) return undefined;
    // The device plugin writes a dot for the plus of `1g.5gb+me`.
    const written = profile.replace(/\.(me|gfx)(?=\.|$)/g, "+$1");
    const selector = `device.attributes["gpu.nvidia.com"].profile == "${written}"`;
    return { deviceClass: "mig.nvidia.com", selector };
  }

  /** Returns why a resource is unchanged. */
  reasonToKeep(resource: string): string {
    if (shared.test(resource))
      return `${resource} stays: it is a part of a GPU that the device plugin shares out, which no class stands for; a claim that several pods name shares a whole one`;
    return `${resource} stays: no DeviceClass for it is known; name one with --device-class ${resource}=CLASS`;
  }
}

/** Returns the well-known extended resources of a class. */
export const resourcesOfClass = (deviceClass: string): string[] =>
  [...wholeDevices].flatMap(([resource, name]) => (name === deviceClass ? resource : []));
