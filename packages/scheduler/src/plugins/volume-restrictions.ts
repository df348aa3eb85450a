import type { Pod, Volume } from "@dray/api/core/v1";
import type { CycleState, Plugin, Rejection } from "../framework/framework.ts";
import { isOwnClaim, namedClaims, type VolumeLookup } from "./helper/volume-lookup.ts";

const name = "VolumeRestrictions";

class State {
  /** The pod's claims that one pod at a time may use. */
  readonly exclusive: ReadonlySet<string>;
  /** How often pods on nodes use them. */
  users: number;
  /** Volumes that are disks which two pods cannot share. */
  readonly disks: readonly Volume[];

  constructor(exclusive: ReadonlySet<string>, users: number, disks: readonly Volume[]) {
    this.exclusive = exclusive;
    this.users = users;
    this.disks = disks;
  }

  clone(): State {
    return new State(this.exclusive, this.users, this.disks);
  }
}

/**
 * Claims that one pod at a time may use (ReadWriteOncePod, KEP-2485), and disks that a node attaches for one
 * pod only.
 * Upstream: plugins/volumerestrictions/volume_restrictions.go
 */
export function volumeRestrictions(lookup: VolumeLookup): Plugin {
  function count(state: CycleState, pod: Pod, other: Pod, sign: 1 | -1): void {
    const own = state.get(name) as State;
    if (other.metadata.namespace !== pod.metadata.namespace) return;
    own.users += sign * namedClaims(other).filter((claim) => own.exclusive.has(claim)).length;
  }

  return {
    name,
    dependsOnOtherNodes: true,
    preFilter(state, pod, nodes) {
      const { namespace } = pod.metadata;
      const disks = (pod.spec.volumes ?? []).filter(isExclusiveDisk);
      const exclusive = new Set<string>();
      for (const claimName of namedClaims(pod)) {
        const claim = lookup.claim(namespace, claimName);
        if (claim === undefined)
          return {
            type: "reject",
            rejection: rejection(`persistentvolumeclaim "${claimName}" not found`, false),
          };
        if (claim.spec?.accessModes?.includes("ReadWriteOncePod")) exclusive.add(claimName);
      }
      const own = new State(exclusive, 0, disks);
      state.set(name, own);
      if (exclusive.size > 0)
        for (const node of nodes) for (const other of node.pods.values()) count(state, pod, other, 1);
      return { type: disks.length === 0 && own.users === 0 ? "skip" : "continue" };
    },
    addPod: (state, pod, added) => count(state, pod, added, 1),
    removePod: (state, pod, removed) => count(state, pod, removed, -1),
    filter(state, _pod, node) {
      const { disks, users } = state.get(name) as State;
      if (disks.length > 0)
        for (const other of node.pods.values())
          if (conflicts(disks, other)) return rejection("node(s) had no available disk", true);
      if (users === 0) return undefined;
      const reason =
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";
      return rejection(reason, true);
    },
    mayHelp(pod, event) {
      if (event.kind === "released") return true;
      if (event.kind === "node") return event.change === "add";
      if (event.kind === "volume") return event.change === "add" && isOwnClaim(pod, event);
      if (event.kind !== "assigned-pod" || event.change !== "delete") return false;
      if (event.pod.metadata.namespace !== pod.metadata.namespace) return false;
      const claims = namedClaims(pod);
      if (namedClaims(event.pod).some((claim) => claims.includes(claim))) return true;
      return conflicts((pod.spec.volumes ?? []).filter(isExclusiveDisk), event.pod);
    },
  };
}

function isExclusiveDisk(volume: Volume): boolean {
  const { gcePersistentDisk, awsElasticBlockStore, rbd, iscsi } = volume;
  return [gcePersistentDisk, awsElasticBlockStore, rbd, iscsi].some((source) => source !== undefined);
}

/** Reports whether the pod has one of the disks; most can be shared where all pods only read. */
function conflicts(disks: readonly Volume[], { spec }: Pod): boolean {
  return disks.some((disk) => spec.volumes?.some((other) => isSameDisk(disk, other)));
}

function isSameDisk(a: Volume, b: Volume): boolean {
  const bothRead = (one: { readOnly?: boolean }, other: { readOnly?: boolean }): boolean =>
    one.readOnly === true && other.readOnly === true;
  if (a.gcePersistentDisk && b.gcePersistentDisk)
    if (
      a.gcePersistentDisk.pdName === b.gcePersistentDisk.pdName &&
      !bothRead(a.gcePersistentDisk, b.gcePersistentDisk)
    )
      return true;
  if (a.awsElasticBlockStore && b.awsElasticBlockStore)
    if (a.awsElasticBlockStore.volumeID === b.awsElasticBlockStore.volumeID) return true;
  if (a.iscsi && b.iscsi && a.iscsi.iqn === b.iscsi.iqn && !bothRead(a.iscsi, b.iscsi)) return true;
  if (a.rbd === undefined || b.rbd === undefined) return false;
  const monitors = b.rbd.monitors ?? [];
  return (
    (a.rbd.monitors ?? []).some((monitor) => monitors.includes(monitor)) &&
    (a.rbd.pool ?? "rbd") === (b.rbd.pool ?? "rbd") &&
    a.rbd.image === b.rbd.image &&
    !bothRead(a.rbd, b.rbd)
  );
}

function rejection(reason: string, resolvable: boolean): Rejection {
  return { plugin: name, reasons: [reason], resolvable };
}
