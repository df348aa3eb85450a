import type { PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import type { World } from "../manifests/world.ts";
import { didYouMean } from "../text/similar.ts";
import { names } from "../text/words.ts";
import type { Wait } from "./data.ts";
import { hasStorage, type Scene, wait } from "./scene.ts";

/** Returns the volume claims that keep the pod from every node. Upstream: volume_binding.go, PreFilter. */
export function volumeWaits(pod: Pod, scene: Scene): Wait[] {
  const { world } = scene;
  if (!hasStorage(scene)) return [];
  const { namespace } = pod.metadata;
  return volumeClaims(pod).flatMap(({ volume, name, isOwn }): Wait[] => {
    const claim = world.find("PersistentVolumeClaim", `${namespace}/${name}`);
    const object = `PersistentVolumeClaim ${namespace}/${name}`;
    const problem =
      claim === undefined ? missingProblem(world, namespace, name, isOwn) : problemOf(claim, world);
    return problem === undefined ? [] : [wait("volume", `volume ${volume}: ${problem}`, { object })];
  });
}

interface VolumeClaim {
  readonly volume: string;
  readonly name: string;
  /** It is made for the pod alone (an ephemeral volume). */
  readonly isOwn: boolean;
}

export function volumeClaims({ metadata, spec }: Pod): VolumeClaim[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }): VolumeClaim[] => {
    if (persistentVolumeClaim !== undefined)
      return [{ volume: name, name: persistentVolumeClaim.claimName, isOwn: false }];
    return ephemeral === undefined ? [] : [{ volume: name, name: `${metadata.name}-${name}`, isOwn: true }];
  });
}

function missingProblem(world: World, namespace: string, name: string, isOwn: boolean): string {
  if (isOwn) return `the controller has not created PersistentVolumeClaim "${name}" yet`;
  const there = world
    .all("PersistentVolumeClaim")
    .flatMap(({ object: { metadata } }) => (metadata.namespace === namespace ? [metadata.name] : []));
  const known = there.length === 0 ? "" : ` (known: ${names(there)})`;
  const meant = didYouMean(name, there);
  return `there is no PersistentVolumeClaim "${name}" in namespace ${namespace}${known}${meant === undefined ? "" : `; ${meant}`}`;
}

function problemOf(claim: PersistentVolumeClaim, world: World): string | undefined {
  const { metadata, spec, status } = claim;
  const title = `PersistentVolumeClaim "${metadata.name}"`;
  if (metadata.deletionTimestamp !== undefined) return `${title} is being deleted`;
  if (status?.phase === "Lost")
    return `${title} is bound to PersistentVolume "${spec?.volumeName ?? ""}", which does not exist`;
  // As VolumeBinding: bound is what the controller has marked (pv.kubernetes.io/bind-completed).
  const isBound =
    Boolean(spec?.volumeName) && metadata.annotations?.["pv.kubernetes.io/bind-completed"] !== undefined;
  if (isBound) return undefined;
  const className =
    metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? spec?.storageClassName ?? "";
  if (spec?.volumeName)
    return `${title} names PersistentVolume "${spec.volumeName}" and is not bound to it yet`;
  if (className === "")
    return `${title} is not bound: it has no StorageClass, and no PersistentVolume matches it`;
  const storageClass = world.find("StorageClass", className);
  if (storageClass === undefined) {
    const there = world.all("StorageClass").map(({ object }) => object.metadata.name);
    const meant = didYouMean(className, there);
    const known = there.length === 0 ? "" : ` (known: ${names(there)})`;
    return `${title} is not bound: there is no StorageClass "${className}"${known}${meant === undefined ? "" : `; ${meant}`}`;
  }
  if (storageClass.volumeBindingMode === "WaitForFirstConsumer") return undefined;
  return `${title} is not bound: provisioner ${storageClass.provisioner} of StorageClass "${className}" has not made its volume`;
}
