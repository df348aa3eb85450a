import type { Node, PersistentVolume, Pod } from "@dray/api/core/v1";
import type { StorageClass } from "@dray/api/storage/v1";
import { differ } from "../framework/changes.ts";
import type { Plugin, Rejection } from "../framework/framework.ts";
import { classOf, isOwnClaim, namedClaims, type VolumeLookup } from "./helper/volume-lookup.ts";

const name = "VolumeZone";

/** Topology labels of volumes and nodes, with their current names. */
const labels: ReadonlyMap<string, string> = new Map([
  ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
  ["topology.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  ["topology.kubernetes.io/region", "topology.kubernetes.io/region"],
]);

interface Topology {
  readonly key: string;
  /** The current name of the key. */
  readonly currentKey: string;
  readonly values: readonly string[];
}

/**
 * Pods run in the zones that the labels of their volumes name.
 * Upstream: plugins/volumezone/volume_zone.go
 */
export function volumeZone(lookup: VolumeLookup): Plugin {
  /** Zones of the pod's volumes; a text is the reason why they are unknown. */
  function topologies(pod: Pod): Topology[] | string {
    const all: Topology[] = [];
    for (const claimName of namedClaims(pod)) {
      if (claimName === "") return "PersistentVolumeClaim had no name";
      const claim = lookup.claim(pod.metadata.namespace, claimName);
      if (claim === undefined) return `persistentvolumeclaim "${claimName}" not found`;
      const volumeName = claim.spec?.volumeName;
      if (volumeName) {
        const volume = lookup.volume(volumeName);
        if (volume === undefined) return `persistentvolume "${volumeName}" not found`;
        for (const topology of topologiesOf(volume)) all.push(topology);
        continue;
      }
      const className = classOf(claim);
      if (className === "") return "PersistentVolumeClaim had no pv name and storageClass name";
      const storageClass = lookup.storageClass(className);
      if (storageClass === undefined) return `storageclass.storage.k8s.io "${className}" not found`;
      // A claim that waits for its first consumer has no volume yet.
      if (!waits(storageClass)) return "PersistentVolume had no name";
    }
    return all;
  }

  return {
    name,
    preFilter(state, pod) {
      const found = topologies(pod);
      if (typeof found === "string") return { type: "reject", rejection: rejection(found) };
      if (found.length === 0) return { type: "skip" };
      state.set(name, found);
      return { type: "continue" };
    },
    filter(state, _pod, { node }) {
      // A cluster of one zone need not label its nodes.
      if (![...labels.keys()].some((key) => labelOf(node, key) !== undefined)) return undefined;
      for (const { key, currentKey, values } of state.get(name) as readonly Topology[]) {
        const value = labelOf(node, key) ?? labelOf(node, currentKey);
        if (value === undefined || !values.includes(value))
          return rejection("node(s) had no available volume zone");
      }
      return undefined;
    },
    mayHelp(pod, event) {
      if (event.kind === "node")
        return event.change === "add" || (event.change === "update" && event.changed.has("labels"));
      if (event.kind !== "volume" || event.change === "delete") return false;
      const { object, old, change } = event;
      if (object.kind === "StorageClass") return change === "add" && waits(object as StorageClass);
      if (object.kind === "PersistentVolumeClaim") return isOwnClaim(pod, event);
      if (object.kind !== "PersistentVolume") return false;
      if (old === undefined) return true;
      return differ(topologiesOf(old as PersistentVolume), topologiesOf(object as PersistentVolume));
    },
  };
}

const waits = ({ volumeBindingMode }: StorageClass): boolean => volumeBindingMode === "WaitForFirstConsumer";

function labelOf({ metadata }: Node, key: string): string | undefined {
  return Object.hasOwn(metadata.labels ?? {}, key) ? metadata.labels?.[key] : undefined;
}

/** `a__b` names two zones; labels that do not name any are not read. */
function topologiesOf({ metadata }: PersistentVolume): Topology[] {
  return [...labels].flatMap(([key, currentKey]) => {
    const label = metadata.labels?.[key];
    if (label === undefined) return [];
    const values = label.split("__").map((value) => value.trim());
    return values.includes("") ? [] : [{ key, currentKey, values }];
  });
}

function rejection(reason: string): Rejection {
  return { plugin: name, reasons: [reason], resolvable: false };
}
