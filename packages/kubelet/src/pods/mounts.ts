import type { Pod } from "@dray/api/core/v1";
import { type MountConfig, RuntimeError } from "../runtime/service.ts";
import { expand } from "./environment.ts";
import type { StartableContainer } from "./plan.ts";
import { resolveSubPath } from "./sub-path.ts";

/** What the mounts of a container follow from. */
export interface MountsInput {
  readonly pod: Pod;
  readonly container: StartableContainer;
  /** The places of the pod's volumes on the machine, by name. */
  readonly places: ReadonlyMap<string, string>;
  /** The container's environment, for `subPathExpr`. */
  readonly env: ReadonlyMap<string, string>;
  /** Below it folders may be made; elsewhere nothing is made on the machine. */
  readonly ownRoot: string;
}

const propagations: Readonly<Record<string, NonNullable<MountConfig["propagation"]>>> = {
  None: "private",
  HostToContainer: "hostToContainer",
  Bidirectional: "bidirectional",
};

/** The mounts of a container. Throws CreateContainerConfigError. */
export function containerMounts({ pod, container, places, env, ownRoot }: MountsInput): MountConfig[] {
  return (container.volumeMounts ?? []).map((mount) => {
    const place = places.get(mount.name);
    if (place === undefined)
      throw new RuntimeError("CreateContainerConfigError", `volume ${mount.name} is not set up`);
    const subPath = mount.subPathExpr
      ? expand(mount.subPathExpr, (name) => env.get(name))
      : (mount.subPath ?? "");
    let hostPath = place;
    if (subPath !== "")
      try {
        if (subPath.split("/").includes("..") || subPath.startsWith("/"))
          throw new Error(`${JSON.stringify(subPath)} must be relative and must not contain ".."`);
        hostPath = resolveSubPath(place, subPath, place.startsWith(`${ownRoot}/`));
      } catch (error) {
        throw new RuntimeError(
          "CreateContainerConfigError",
          `failed to prepare subPath for volumeMount "${mount.name}" of container "${container.name}": ${(error as Error).message}`,
          { cause: error },
        );
      }
    const kind = pod.spec.volumes?.find(({ name }) => name === mount.name);
    const generated = !kind?.emptyDir && !kind?.hostPath;
    const propagation = propagations[mount.mountPropagation ?? "None"];
    return {
      hostPath,
      containerPath: mount.mountPath.replace(/(.)\/+$/, "$1"),
      readOnly: (mount.readOnly ?? false) || generated,
      ...(propagation === undefined ? {} : { propagation }),
    };
  });
}
