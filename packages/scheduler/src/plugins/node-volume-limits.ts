import type { Features } from "@dray/api";
import type { PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import type { CSINode } from "@dray/api/storage/v1";
import type { ClusterEvent, Plugin, Rejection } from "../framework/framework.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import { classOf, isOwnClaim, podClaims, type VolumeLookup } from "./helper/volume-lookup.ts";

const name = "NodeVolumeLimits";

/** CSI driver by `driver/volume`. */
type Volumes = Map<string, string>;

/**
 * A node attaches no more volumes of a CSI driver than its CSINode says; and from 1.37 on a pod goes only
 * where the driver of its volumes is installed, if the driver demands that (KEP-5030).
 *
 * Upstream: plugins/nodevolumelimits/csi.go. Not as upstream: volumes of drivers that were once part of
 * Kubernetes, and are CSI drivers today, do not count.
 */
export function nodeVolumeLimits(lookup: VolumeLookup, features: Features): Plugin {
  const needsDriver = features.version >= "1.37";

  function volumesOf(pod: Pod, volumes: Volumes = new Map()): Volumes {
    for (const { name: claimName } of podClaims(pod)) {
      const claim = lookup.claim(pod.metadata.namespace, claimName);
      const volume = claim && csiVolume(claim);
      if (volume !== undefined) volumes.set(`${volume.driver}/${volume.handle}`, volume.driver);
    }
    return volumes;
  }

  /** A claim without a volume counts as one of its class's provisioner. */
  function csiVolume(claim: PersistentVolumeClaim): { driver: string; handle: string } | undefined {
    const volume = claim.spec?.volumeName ? lookup.volume(claim.spec.volumeName) : undefined;
    if (volume !== undefined) {
      const { driver, volumeHandle } = volume.spec?.csi ?? {};
      return driver && volumeHandle ? { driver, handle: volumeHandle } : undefined;
    }
    const driver = lookup.storageClass(classOf(claim))?.provisioner;
    // No volume's handle has a NUL.
    return driver ? { driver, handle: `\0${claim.metadata.namespace}/${claim.metadata.name}` } : undefined;
  }

  function missingDriver(drivers: Iterable<string>, csiNode: CSINode | undefined): string | undefined {
    for (const driver of drivers)
      if (
        lookup.csiDriver(driver)?.spec.preventPodSchedulingIfMissing === true &&
        !csiNode?.spec.drivers.some((each) => each.name === driver)
      )
        return driver;
    return undefined;
  }

  /**
   * Returns how many volumes of each driver are on the node, or are being detached; `wanted` loses those that
   * are there.
   */
  function attached({ name: node, pods }: NodeInfo, wanted: Volumes): ReadonlyMap<string, number> {
    const volumes: Volumes = new Map();
    for (const pod of pods.values()) volumesOf(pod, volumes);
    for (const volume of volumes.keys()) wanted.delete(volume);
    for (const { spec } of lookup.attachmentsOn(node)) {
      const volume = lookup.volume(spec.source.persistentVolumeName ?? "");
      const handle = volume?.spec?.csi?.volumeHandle;
      if (handle !== undefined) volumes.set(`${spec.attacher}/${handle}`, spec.attacher);
    }
    return countValues(volumes);
  }

  return {
    name,
    preFilter(state, pod) {
      const wanted = volumesOf(pod);
      if (wanted.size === 0) return { type: "skip" };
      state.set(name, wanted);
      return { type: "continue" };
    },
    filter(state, _pod, node) {
      const all = state.get(name) as Volumes;
      const csiNode = lookup.csiNode(node.name);
      const missing = needsDriver ? missingDriver(all.values(), csiNode) : undefined;
      if (missing !== undefined) return rejection(`${missing} CSI driver is not installed on the node`);
      const limits = limitsOf(csiNode);
      if (limits.size === 0) return undefined;
      const wanted = new Map(all);
      const there = attached(node, wanted);
      for (const [driver, count] of countValues(wanted)) {
        const limit = limits.get(driver);
        if (limit !== undefined && (there.get(driver) ?? 0) + count > limit)
          return rejection("node(s) exceed max volume count");
      }
      return undefined;
    },
    mayHelp: (pod, event) => mayHelp(pod, event),
  };
}

function mayHelp(pod: Pod, event: ClusterEvent): boolean {
  switch (event.kind) {
    case "released":
      return true;
    case "assigned-pod":
      return event.change === "delete" && podClaims(event.pod).length > 0;
    case "volume": {
      const { object, old, change } = event;
      if (object.kind === "VolumeAttachment") return change === "delete" && podClaims(pod).length > 0;
      if (object.kind === "PersistentVolumeClaim") return change === "add" && isOwnClaim(pod, event);
      if (object.kind !== "CSINode" || change === "delete") return false;
      if (old === undefined) return true;
      const before = limitsOf(old as CSINode);
      for (const [driver, limit] of limitsOf(object as CSINode))
        if (limit > (before.get(driver) ?? 0)) return true;
      return false;
    }
    default:
      return false;
  }
}

function limitsOf(csiNode: CSINode | undefined): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  for (const { name: driver, allocatable } of csiNode?.spec.drivers ?? [])
    if (allocatable?.count !== undefined) limits.set(driver, Number(allocatable.count));
  return limits;
}

function countValues(map: ReadonlyMap<string, string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const value of map.values()) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function rejection(reason: string): Rejection {
  return { plugin: name, reasons: [reason], resolvable: true };
}
