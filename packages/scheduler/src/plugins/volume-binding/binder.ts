import { labelSelectorOf, matchesIfValid } from "@dray/api";
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import type { CSIStorageCapacity } from "@dray/api/storage/v1";
import { classOf, podClaims, type VolumeLookup } from "../helper/volume-lookup.ts";
import { AssumedObjects } from "./assume-cache.ts";
import {
  boundTo,
  isFullyBound,
  matchingVolume,
  reachesNode,
  selectedNode,
  servesNode,
  storageOf,
  volumeLimit,
  withSelectedNode,
} from "./match.ts";

/** The claims of a pod, by what is left to do for them. */
export interface ClaimsOfPod {
  readonly bound: readonly PersistentVolumeClaim[];
  /** Wait for their first consumer. */
  readonly delayed: readonly PersistentVolumeClaim[];
  /** Their controller is to bind them, whatever the pod. */
  readonly immediate: readonly PersistentVolumeClaim[];
}

export interface StaticBinding {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
}

export interface Provision {
  readonly claim: PersistentVolumeClaim;
  /** Free capacity on the node, where its driver reports it. */
  readonly capacity?: CSIStorageCapacity;
}

/** How a pod gets its volumes on one node. */
export interface PodVolumes {
  readonly bindings: readonly StaticBinding[];
  readonly provisions: readonly Provision[];
}

/** Writes for a pod. */
export interface VolumeWrites {
  readonly volumes: readonly PersistentVolume[];
  readonly claims: readonly PersistentVolumeClaim[];
}

const noProvisioner = "kubernetes.io/no-provisioner";
const noPersistentVolume = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
const nodeConflict = "node(s) didn't match PersistentVolume's node affinity";
const bindConflict = "node(s) didn't find available persistent volumes to bind";
const notEnoughSpace = "node(s) did not have enough free storage";

/**
 * Finds volumes for the claims of pods, and remembers what is about to be written for pods that have a node.
 * Upstream: plugins/volumebinding/binder.go. Not as upstream: volumes of drivers that were once part of
 * Kubernetes are not read as those of the CSI drivers that serve them today.
 */
export class VolumeBinder {
  readonly #lookup: VolumeLookup;
  readonly #volumes = new AssumedObjects<PersistentVolume>();
  readonly #claims = new AssumedObjects<PersistentVolumeClaim>();

  constructor(lookup: VolumeLookup) {
    this.#lookup = lookup;
  }

  /** Claims that are missing are left out. */
  claimsOf(pod: Pod): ClaimsOfPod {
    const bound: PersistentVolumeClaim[] = [];
    const delayed: PersistentVolumeClaim[] = [];
    const immediate: PersistentVolumeClaim[] = [];
    for (const { name } of podClaims(pod)) {
      const stored = this.#lookup.claim(pod.metadata.namespace, name);
      if (stored === undefined) continue;
      const claim = this.#claims.of(stored);
      if (isFullyBound(claim)) bound.push(claim);
      else if (this.#waits(claim) && !claim.spec?.volumeName) delayed.push(claim);
      else immediate.push(claim);
    }
    return { bound, delayed, immediate };
  }

  #waits(claim: PersistentVolumeClaim): boolean {
    const className = classOf(claim);
    return (
      className !== "" && this.#lookup.storageClass(className)?.volumeBindingMode === "WaitForFirstConsumer"
    );
  }

  /**
   * Returns how the claims get volumes on the node, or why they do not. Throws for claims that can have none
   * anywhere.
   */
  find({ bound, delayed }: ClaimsOfPod, node: Node): PodVolumes | readonly string[] {
    const reasons = this.#checkBound(bound, node);
    if (delayed.length === 0) return reasons.length > 0 ? reasons : { bindings: [], provisions: [] };
    const toProvision: PersistentVolumeClaim[] = [];
    const toMatch: PersistentVolumeClaim[] = [];
    for (const claim of delayed) {
      const chosen = selectedNode(claim);
      if (chosen !== undefined && chosen !== node.metadata.name) return [...reasons, bindConflict];
      (chosen === undefined ? toMatch : toProvision).push(claim);
    }
    const bindings: StaticBinding[] = [];
    const taken = new Set<string>();
    // The smallest first, so that each gets the smallest volume that does.
    for (const claim of toMatch.sort(bySize)) {
      const volumes = this.#lookup.volumesOf(classOf(claim)).map((volume) => this.#volumes.of(volume));
      const volume = matchingVolume(claim, volumes, node, taken);
      if (volume === undefined) {
        toProvision.push(claim);
        continue;
      }
      taken.add(volume.metadata.name);
      bindings.push({ claim, volume });
    }
    const provisions: Provision[] = [];
    for (const claim of toProvision) {
      const provision = this.#provision(claim, node);
      if (typeof provision === "string") return [...reasons, provision];
      provisions.push(provision);
    }
    return reasons.length > 0 ? reasons : { bindings, provisions };
  }

  #checkBound(claims: readonly PersistentVolumeClaim[], node: Node): readonly string[] {
    for (const { spec } of claims) {
      const stored = this.#lookup.volume(spec?.volumeName ?? "");
      if (stored === undefined) return [noPersistentVolume];
      if (!reachesNode(this.#volumes.of(stored), node)) return [nodeConflict];
    }
    return [];
  }

  #provision(claim: PersistentVolumeClaim, node: Node): Provision | string {
    const { namespace, name } = claim.metadata;
    const className = classOf(claim);
    if (className === "") throw new Error(`no class for claim "${namespace}/${name}"`);
    const storageClass = this.#lookup.storageClass(className);
    if (storageClass === undefined) throw new Error(`failed to find storage class "${className}"`);
    const { provisioner } = storageClass;
    if (!provisioner || provisioner === noProvisioner || !servesNode(storageClass, node)) return bindConflict;
    const request = claim.spec?.resources?.requests;
    const measured = this.#lookup.csiDriver(provisioner)?.spec.storageCapacity === true;
    if (!measured || request?.["storage"] === undefined) return { claim };
    const size = storageOf(request);
    const capacity = this.#lookup
      .capacitiesOf(className)
      .find(
        (each) =>
          (volumeLimit(each)?.compare(size) ?? -1) >= 0 &&
          each.nodeTopology !== undefined &&
          matchesIfValid(() => labelSelectorOf(each.nodeTopology), node.metadata.labels),
      );
    return capacity === undefined ? notEnoughSpace : { claim, capacity };
  }

  /** From now on the volumes count as the pod's; what has to be written for it. */
  assume({ bindings, provisions }: PodVolumes, node: string): VolumeWrites {
    const volumes: PersistentVolume[] = [];
    for (const { claim, volume } of bindings) {
      const reserved = boundTo(volume, claim);
      volumes.push(reserved);
      if (reserved !== volume) this.#volumes.assume(volume, reserved);
    }
    const claims = provisions.map(({ claim }) => {
      const chosen = selectedNode(claim) === node ? claim : withSelectedNode(claim, node);
      if (chosen !== claim) this.#claims.assume(claim, chosen);
      return chosen;
    });
    return { volumes, claims };
  }

  restore({ volumes, claims }: VolumeWrites): void {
    for (const volume of volumes) this.#volumes.restore(volume);
    for (const claim of claims) this.#claims.restore(claim);
  }

  /**
   * Reports whether the controller has bound the written volumes. Throws if the pod has to be scheduled
   * again.
   * Upstream: checkBindings
   */
  isBound({ volumes, claims }: VolumeWrites, node: Node): boolean {
    return (
      volumes.every((volume) => this.#isVolumeBound(volume, node)) &&
      claims.every((claim) => this.#isClaimBound(claim, node))
    );
  }

  #isVolumeBound(written: PersistentVolume, node: Node): boolean {
    const { name } = written.metadata;
    const volume = this.#lookup.volume(name);
    if (volume === undefined)
      throw new Error(`failed to check binding: persistentvolume "${name}" not found`);
    if (!hasReached(volume, written)) return false;
    checkNode(volume, node);
    if (!volume.spec?.claimRef?.uid) throw new Error(`ClaimRef got reset for pv "${name}"`);
    const { namespace = "", name: claimName = "" } = written.spec?.claimRef ?? {};
    const claim = this.#lookup.claim(namespace, claimName);
    if (claim === undefined)
      throw new Error(`failed to check binding: persistentvolumeclaim "${claimName}" not found`);
    return isFullyBound(claim);
  }

  #isClaimBound(written: PersistentVolumeClaim, node: Node): boolean {
    const { namespace, name } = written.metadata;
    const claim = this.#lookup.claim(namespace, name);
    if (claim === undefined)
      throw new Error(`failed to check provisioning pvc: persistentvolumeclaim "${name}" not found`);
    if (!hasReached(claim, written)) return false;
    // A provisioner that cannot make the volume there takes the choice back.
    if (selectedNode(claim) !== node.metadata.name) throw new Error(`provisioning failed for PVC "${name}"`);
    if (!claim.spec?.volumeName) return false;
    const volume = this.#lookup.volume(claim.spec.volumeName);
    if (volume === undefined) return false;
    checkNode(volume, node);
    return isFullyBound(claim);
  }
}

function checkNode(volume: PersistentVolume, node: Node): void {
  if (!reachesNode(volume, node))
    throw new Error(
      `pv "${volume.metadata.name}" node affinity doesn't match node "${node.metadata.name}": no matching NodeSelectorTerms`,
    );
}

/** Reports whether the cache has what was written, or something newer. */
function hasReached(
  { metadata }: { readonly metadata: { readonly resourceVersion: string } },
  written: { readonly metadata: { readonly resourceVersion: string } },
): boolean {
  return BigInt(metadata.resourceVersion) >= BigInt(written.metadata.resourceVersion);
}

function bySize(a: PersistentVolumeClaim, b: PersistentVolumeClaim): number {
  return storageOf(a.spec?.resources?.requests).compare(storageOf(b.spec?.resources?.requests));
}
