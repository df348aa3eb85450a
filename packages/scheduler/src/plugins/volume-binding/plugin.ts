import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { CSIDriver, CSINode, CSIStorageCapacity, StorageClass } from "@dray/api/storage/v1";
import { differ } from "../../framework/changes.ts";
import type { ClusterEvent, Plugin, Rejection } from "../../framework/framework.ts";
import type { PluginArgs } from "../args.ts";
import { scoreByShape } from "../helper/score-shape.ts";
import { classOf, classOfVolume, isOwnClaim, podClaims, type VolumeLookup } from "../helper/volume-lookup.ts";
import { type ClaimsOfPod, type PodVolumes, VolumeBinder, type VolumeWrites } from "./binder.ts";
import { storageOf, volumeLimit } from "./match.ts";
import type { VolumeWriter } from "./writer.ts";

const name = "VolumeBinding";
const migratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";

interface State {
  readonly claims: ClaimsOfPod;
  /** Results of Filter, by node. */
  readonly byNode: Map<string, PodVolumes>;
  /** Writes of PreBind. */
  writes?: VolumeWrites;
}

export interface VolumeBindingOptions {
  readonly lookup: VolumeLookup;
  readonly writer: VolumeWriter;
  readonly args: PluginArgs["VolumeBinding"];
  readonly features: Features;
}

/**
 * Pods run where the volumes of their claims are. For a claim that waits for its first consumer, volumes that
 * are there are reserved, or one is asked for on the node that the pod gets; the pod is bound once its
 * volumes are.
 *
 * Upstream: plugins/volumebinding/volume_binding.go
 */
export function volumeBinding({ lookup, writer, args, features }: VolumeBindingOptions): Plugin {
  const binder = new VolumeBinder(lookup);
  // StorageCapacityScoring is beta and on from 1.37.
  const scoreOf = features.version >= "1.37" ? scoreByShape(args.shape) : undefined;

  async function bind({ volumes, claims }: VolumeWrites): Promise<VolumeWrites> {
    const written: { volumes: VolumeWrites["volumes"][number][]; claims: VolumeWrites["claims"][number][] } =
      {
        volumes: [],
        claims: [],
      };
    // One after the other: should one fail, those before it stay, and the next attempt finds them.
    for (const volume of volumes) {
      const stored = lookup.volume(volume.metadata.name);
      const done = stored?.spec?.claimRef?.uid === volume.spec?.claimRef?.uid;
      written.volumes.push(done && stored !== undefined ? stored : await writer.volume(volume));
    }
    for (const claim of claims) {
      const { namespace, name: claimName } = claim.metadata;
      const stored = lookup.claim(namespace, claimName);
      const done = stored !== undefined && !differ(stored.metadata.annotations, claim.metadata.annotations);
      written.claims.push(done ? stored : await writer.claim(claim));
    }
    return written;
  }

  return {
    name,
    preFilter(state, pod) {
      const problem = claimProblem(pod, lookup);
      if (problem !== undefined) return { type: "reject", rejection: rejection([problem]) };
      if (podClaims(pod).length === 0) return { type: "skip" };
      const claims = binder.claimsOf(pod);
      if (claims.immediate.length > 0) {
        const reasons = ["pod has unbound immediate PersistentVolumeClaims"];
        return { type: "reject", rejection: rejection(reasons) };
      }
      state.set(name, { claims, byNode: new Map() } satisfies State);
      return { type: "continue" };
    },
    filter(state, _pod, { node, name: nodeName }) {
      const { claims, byNode } = state.get(name) as State;
      const found = binder.find(claims, node);
      if (!("bindings" in found)) return rejection(found);
      byNode.set(nodeName, found);
      return undefined;
    },
    preScore(state) {
      const own = state.get(name) as State | undefined;
      return scoreOf === undefined || own === undefined || own.claims.delayed.length === 0
        ? "skip"
        : undefined;
    },
    score(state, _pod, node) {
      const found = (state.get(name) as State).byNode.get(node.name);
      return scoreOf === undefined || found === undefined ? 0 : capacityScore(found, scoreOf);
    },
    reserve(state, _pod, node) {
      const own = state.get(name) as State | undefined;
      const found = own?.byNode.get(node.name);
      if (own === undefined || found === undefined || own.claims.delayed.length === 0) return undefined;
      own.writes = binder.assume(found, node.name);
      return undefined;
    },
    undo(state) {
      const own = state.get(name) as State | undefined;
      if (own?.writes !== undefined) binder.restore(own.writes);
      if (own !== undefined) delete own.writes;
    },
    async preBind(state, pod, { node }) {
      const own = state.get(name) as State | undefined;
      if (own?.writes === undefined) return;
      const written = await bind(own.writes);
      const bound = await writer.until(() => {
        if (writer.exists(pod)) return binder.isBound(written, node);
        throw new Error(`binding volumes: pod does not exist any more: pod "${pod.metadata.name}" not found`);
      }, args.bindTimeout);
      if (!bound) throw new Error("binding volumes: context deadline exceeded");
      // The cache has the written objects: assumed ones are not needed any longer.
      binder.restore(own.writes);
    },
    mayHelp,
  };
}

/** Returns why the pod can be nowhere, whatever its claims need. Upstream: podHasPVCs */
function claimProblem(pod: Pod, lookup: VolumeLookup): string | undefined {
  const { namespace, name: podName, uid } = pod.metadata;
  for (const { name: claimName, ephemeral } of podClaims(pod)) {
    const claim = lookup.claim(namespace, claimName);
    if (claim === undefined)
      return ephemeral
        ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${claimName}"`
        : `persistentvolumeclaim "${claimName}" not found`;
    if (claim.status?.phase === "Lost")
      return `persistentvolumeclaim "${claimName}" bound to non-existent persistentvolume "${claim.spec?.volumeName ?? ""}"`;
    if (claim.metadata.deletionTimestamp !== undefined)
      return `persistentvolumeclaim "${claimName}" is being deleted`;
    const owned = claim.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.controller);
    if (ephemeral && !owned)
      return `PVC ${namespace}/${claimName} was not created for pod ${namespace}/${podName} (pod is not owner)`;
  }
  return undefined;
}

/** By the share of the storage that the claims ask for, the mean of their classes. */
function capacityScore(
  { bindings, provisions }: PodVolumes,
  scoreOf: (requested: number, capacity: number) => number,
): number {
  const classes = new Map<string, { requested: number; capacity: number }>();
  const of = (storageClass: string): { requested: number; capacity: number } => {
    const known = classes.get(storageClass) ?? { requested: 0, capacity: 0 };
    classes.set(storageClass, known);
    return known;
  };
  for (const { claim, volume } of bindings) {
    const own = of(classOfVolume(volume));
    own.requested += Number(storageOf(claim.spec?.resources?.requests).value());
    own.capacity += Number(storageOf(volume.spec?.capacity).value());
  }
  // Volumes that are there come first.
  if (bindings.length === 0)
    for (const { claim, capacity } of provisions) {
      if (capacity === undefined) continue;
      const own = of(classOf(claim));
      own.requested += Number(storageOf(claim.spec?.resources?.requests).value());
      own.capacity = Number(storageOf({ storage: capacity.capacity ?? "0" }).value());
    }
  if (classes.size === 0) return 0;
  let sum = 0;
  for (const { requested, capacity } of classes.values()) sum += scoreOf(requested, capacity);
  return Math.round(sum / classes.size);
}

function mayHelp(pod: Pod, event: ClusterEvent): boolean {
  switch (event.kind) {
    case "released":
      return true;
    case "node":
      return event.change === "add" || (event.change === "update" && event.changed.has("labels"));
    case "volume":
      return event.change !== "delete" && storageMayHelp(pod, event);
    default:
      return false;
  }
}

function storageMayHelp(pod: Pod, event: ClusterEvent & { readonly kind: "volume" }): boolean {
  const { object, old } = event;
  switch (object.kind) {
    case "PersistentVolume":
      return true;
    case "PersistentVolumeClaim":
      return isOwnClaim(pod, event);
    case "StorageClass":
      return (
        old === undefined ||
        differ((object as StorageClass).allowedTopologies, (old as StorageClass).allowedTopologies)
      );
    case "CSINode":
      return (
        old === undefined ||
        (object as CSINode).metadata.annotations?.[migratedPlugins] !==
          (old as CSINode).metadata.annotations?.[migratedPlugins]
      );
    case "CSIDriver": {
      const measured = (driver: CSIDriver | undefined): boolean => driver?.spec.storageCapacity === true;
      return measured(old as CSIDriver | undefined) && !measured(object as CSIDriver);
    }
    case "CSIStorageCapacity": {
      const limit = volumeLimit(object as CSIStorageCapacity);
      const before = old && volumeLimit(old as CSIStorageCapacity);
      if (old === undefined) return true;
      return limit !== undefined && (before === undefined || limit.compare(before) > 0);
    }
    default:
      return false;
  }
}

function rejection(reasons: readonly string[]): Rejection {
  return { plugin: name, reasons, resolvable: false };
}
