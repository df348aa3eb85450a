import type { Pod, Volume, VolumeMount } from "@dray/api/core/v1";
import type { NodePaths } from "../base/paths.ts";
import type { ImageMount, MountConfig } from "../runtime/config.ts";
import { RuntimeError } from "../runtime/error.ts";
import type { StartableContainer } from "../types/containers.ts";
import { expand } from "./environment.ts";
import { resolveSubPath } from "./sub-path.ts";

/** What the mounts of a container follow from. */
export interface MountsInput {
  readonly pod: Pod;
  readonly container: StartableContainer;
  /** The places of the pod's volumes on the machine, by name. */
  readonly places: ReadonlyMap<string, string>;
  /** The images that are volumes of the pod, by name of the volume. */
  readonly images: ReadonlyMap<string, VolumeImage>;
  /** The container's environment, for `subPathExpr`. */
  readonly env: ReadonlyMap<string, string>;
  /** Below their root folders are made that a `subPath` lacks; elsewhere where `writesMachine` allows it. */
  readonly paths: Pick<NodePaths, "contains">;
  /** Containers write the machine's own folders as root where a pod mounts them: so may the node for them. */
  readonly writesMachine: boolean;
  /** The runtime can make mounts read-only with all that is below them. */
  readonly recursiveReadOnly: boolean;
}

/** An image that is a volume of a pod, and is there. */
export type VolumeImage = Omit<ImageMount, "subPath">;

const propagations: Readonly<Record<string, NonNullable<MountConfig["propagation"]>>> = {
  None: "private",
  HostToContainer: "hostToContainer",
  Bidirectional: "bidirectional",
};

/** The mounts of a container. Throws CreateContainerConfigError. */
export function containerMounts(input: MountsInput): MountConfig[] {
  const { pod, container, places, images, env, paths } = input;
  return (container.volumeMounts ?? []).map((mount) => {
    const image = images.get(mount.name);
    const place = places.get(mount.name);
    if (place === undefined && image === undefined)
      throw new RuntimeError("CreateContainerConfigError", `volume ${mount.name} is not set up`);
    const subPath = mount.subPathExpr
      ? expand(mount.subPathExpr, (name) => env.get(name))
      : (mount.subPath ?? "");
    let hostPath = place ?? "";
    if (subPath !== "")
      try {
        if (subPath.split("/").includes("..") || subPath.startsWith("/"))
          throw new Error(`${JSON.stringify(subPath)} must be relative and must not contain ".."`);
        // That of an image is for the runtime to look up.
        if (place !== undefined) {
          const create = paths.contains(place) || (input.writesMachine && mount.readOnly !== true);
          hostPath = resolveSubPath(place, subPath, create);
        }
      } catch (error) {
        throw new RuntimeError(
          "CreateContainerConfigError",
          `failed to prepare subPath for volumeMount "${mount.name}" of container "${container.name}": ${(error as Error).message}`,
          { cause: error },
        );
      }
    checkRecursiveReadOnly(mount, input.recursiveReadOnly);
    const volume = pod.spec.volumes?.find(({ name }) => name === mount.name);
    const containerPath = mount.mountPath.replace(/(.)\/+$/, "$1");
    if (image !== undefined)
      return { hostPath: "", image: { ...image, subPath }, containerPath, readOnly: true };
    const propagation = propagations[mount.mountPropagation ?? "None"];
    return {
      hostPath,
      containerPath,
      readOnly: (mount.readOnly ?? false) || (volume !== undefined && isReadOnly(volume)),
      ...(isRecursivelyReadOnly(mount, input.recursiveReadOnly) ? { recursiveReadOnly: true } : {}),
      ...(propagation === undefined ? {} : { propagation }),
    };
  });
}

/** What the agent fills is read-only for the pod, and a claim that the pod has so. */
function isReadOnly({ emptyDir, hostPath, persistentVolumeClaim, ephemeral }: Volume): boolean {
  if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.readOnly ?? false;
  return emptyDir === undefined && hostPath === undefined && ephemeral === undefined;
}

/**
 * True where what is mounted below a mount is read-only, too: `supported` by the runtime, and wanted.
 *
 * Upstream: pkg/kubelet/kubelet_pods.go, resolveRecursiveReadOnly.
 */
export function isRecursivelyReadOnly(
  { readOnly, recursiveReadOnly = "Disabled" }: VolumeMount,
  supported: boolean,
): boolean {
  return supported && readOnly === true && recursiveReadOnly !== "Disabled";
}

/** Throws CreateContainerConfigError where that has to be and cannot. */
function checkRecursiveReadOnly({ name, recursiveReadOnly }: VolumeMount, supported: boolean): void {
  if (supported || recursiveReadOnly !== "Enabled") return;
  const problem = `volume "${name}" requested recursive read-only mode, but it is not supported by the runtime`;
  throw new RuntimeError(
    "CreateContainerConfigError",
    `failed to resolve recursive read-only mode: ${problem}`,
  );
}
