import { join } from "node:path";
import type { VolumeMount } from "@dray/api/core/v1";
import type { NodePaths } from "../base/paths.ts";
import type { ImageMount, MountConfig } from "../runtime/config.ts";
import { RuntimeError } from "../runtime/error.ts";
import type { StartableContainer } from "../types/containers.ts";
import type { MountedVolume } from "../types/mounted-volume.ts";
import { expand } from "./environment.ts";
import { type MountSource, mountSubPath } from "./sub-path-mount.ts";

/** Input of the mounts of a container. */
export interface MountsInput {
  readonly container: StartableContainer;
  /** The pod's volumes by name, without those that are images. */
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** Images that are volumes of the pod, by name of the volume. */
  readonly images: ReadonlyMap<string, VolumeImage>;
  /** The container's environment, for `subPathExpr`. */
  readonly env: ReadonlyMap<string, string>;
  /** Folder of the pod on this node. */
  readonly podDirectory: string;
  /** The runtime refuses mounts of another identity. */
  readonly checksMounts: boolean;
  /** Missing folders of a `subPath` are made below the node's root; elsewhere only with `writesMachine`. */
  readonly paths: Pick<NodePaths, "contains">;
  /** Containers run as root of the machine, and write its folders where a pod mounts them. */
  readonly writesMachine: boolean;
  /** The runtime supports mounts that are read-only recursively. */
  readonly recursiveReadOnly: boolean;
}

/** An image that is a volume of a pod, and was pulled. */
export type VolumeImage = Omit<ImageMount, "subPath">;

const propagations: Readonly<Record<string, NonNullable<MountConfig["propagation"]>>> = {
  None: "private",
  HostToContainer: "hostToContainer",
  Bidirectional: "bidirectional",
};

/** Returns the mounts of a container. Throws CreateContainerConfigError. */
export function containerMounts(input: MountsInput): MountConfig[] {
  const { container, volumes, images, env, paths } = input;
  return (container.volumeMounts ?? []).map((mount, index) => {
    const image = images.get(mount.name);
    const volume = volumes.get(mount.name);
    if (volume === undefined && image === undefined)
      throw new RuntimeError("CreateContainerConfigError", `volume ${mount.name} is not set up`);
    const subPath = mount.subPathExpr
      ? expand(mount.subPathExpr, (name) => env.get(name))
      : (mount.subPath ?? "");
    let source: MountSource = { hostPath: volume?.path ?? "" };
    if (subPath !== "")
      try {
        if (subPath.split("/").includes("..") || subPath.startsWith("/"))
          throw new Error(`${JSON.stringify(subPath)} must be relative and must not contain ".."`);
        // The runtime looks up `subPath` in an image.
        if (volume !== undefined) {
          const create = paths.contains(volume.path) || (input.writesMachine && mount.readOnly !== true);
          const target = join(
            input.podDirectory,
            "volume-subpaths",
            mount.name,
            container.name,
            String(index),
          );
          const { checksMounts } = input;
          source = mountSubPath({ volume: volume.path, subPath, create, target, checksMounts });
        }
      } catch (error) {
        throw new RuntimeError(
          "CreateContainerConfigError",
          `failed to prepare subPath for volumeMount "${mount.name}" of container "${container.name}": ${(error as Error).message}`,
          { cause: error },
        );
      }
    checkRecursiveReadOnly(mount, input.recursiveReadOnly);
    const containerPath = mount.mountPath.replace(/(.)\/+$/, "$1");
    if (image !== undefined)
      return { hostPath: "", image: { ...image, subPath }, containerPath, readOnly: true };
    const propagation = propagations[mount.mountPropagation ?? "None"];
    return {
      ...source,
      containerPath,
      readOnly: (mount.readOnly ?? false) || (volume?.readOnly ?? false),
      ...(isRecursivelyReadOnly(mount, input.recursiveReadOnly) ? { recursiveReadOnly: true } : {}),
      ...(propagation === undefined ? {} : { propagation }),
    };
  });
}

/**
 * Reports whether a mount is read-only recursively: requested, and `supported` by the runtime.
 *
 * Upstream: pkg/kubelet/kubelet_pods.go, resolveRecursiveReadOnly.
 */
export function isRecursivelyReadOnly(
  { readOnly, recursiveReadOnly = "Disabled" }: VolumeMount,
  supported: boolean,
): boolean {
  return supported && readOnly === true && recursiveReadOnly !== "Disabled";
}

/** Throws CreateContainerConfigError if a recursively read-only mount is required and cannot be made. */
function checkRecursiveReadOnly({ name, recursiveReadOnly }: VolumeMount, supported: boolean): void {
  if (supported || recursiveReadOnly !== "Enabled") return;
  const problem = `volume "${name}" requested recursive read-only mode, but it is not supported by the runtime`;
  throw new RuntimeError(
    "CreateContainerConfigError",
    `failed to resolve recursive read-only mode: ${problem}`,
  );
}
