import { matchesNode } from "@dray/api";
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import type { StorageClass } from "@dray/api/storage/v1";
import type { Plugin, PreFilterResult, Rejection } from "../framework.ts";
import type { NodeInfo } from "../node-info.ts";

const name = "VolumeBinding";

/** The volumes of a cluster, as caches have them. */
export interface VolumeLookup {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
}

/** What a pod's claims ask of its node. */
interface Needs {
  readonly volumes: readonly PersistentVolume[];
  /** UIDs of claims that are bound when a pod that uses them has a node. */
  readonly waiting: readonly string[];
}

/**
 * Pods run where the volumes of their claims are; a claim that waits for its first consumer is bound by its controller
 * once the pod has a node, and until then all its pods go to that node.
 *
 * Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go. Not as upstream: which node has a volume or
 * a provisioner for a waiting claim is not asked before the pod is bound.
 */
export function volumeBinding(lookup: VolumeLookup): Plugin {
  /** By the UID of a waiting claim: the node of the pod that was placed first. */
  const chosen = new Map<string, string>();
  return {
    name,
    preFilter(state, pod) {
      const needs = needsOf(pod, lookup, chosen);
      if (needs === undefined) return { type: "skip" };
      if (typeof needs === "string") return rejectAll(needs);
      state.set(name, needs);
      return { type: "continue" };
    },
    filter(state, _pod, { node }) {
      const { volumes, waiting } = state.get(name) as Needs;
      const elsewhere = waiting.some((uid) => (chosen.get(uid) ?? node.metadata.name) !== node.metadata.name);
      if (elsewhere || !volumes.every((volume) => reaches(volume, node)))
        return rejection("node(s) didn't match PersistentVolume's node affinity");
      return undefined;
    },
    reserve(state, _pod, { node }) {
      const needs = state.get(name) as Needs | undefined;
      for (const uid of needs?.waiting ?? []) if (!chosen.has(uid)) chosen.set(uid, node.metadata.name);
      return undefined;
    },
    async unreserve(state, pod, { node }) {
      if (pod.spec.nodeName) return;
      const needs = state.get(name) as Needs | undefined;
      for (const uid of needs?.waiting ?? []) if (chosen.get(uid) === node.metadata.name) chosen.delete(uid);
    },
    mayHelp: (_pod, event) => event.kind === "volume" || event.kind === "node" || event.kind === "own-pod",
  };
}

/** Undefined for a pod without claims; a text says why it can be nowhere. */
function needsOf(
  { metadata, spec }: Pod,
  lookup: VolumeLookup,
  chosen: Map<string, string>,
): Needs | string | undefined {
  const volumes: PersistentVolume[] = [];
  const waiting: string[] = [];
  let any = false;
  for (const { name: volume, persistentVolumeClaim, ephemeral } of spec.volumes ?? []) {
    const claimName =
      ephemeral !== undefined ? `${metadata.name}-${volume}` : persistentVolumeClaim?.claimName;
    if (claimName === undefined) continue;
    any = true;
    const claim = lookup.claim(metadata.namespace, claimName);
    if (claim === undefined)
      return ephemeral !== undefined
        ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${claimName}"`
        : `persistentvolumeclaim "${claimName}" not found`;
    const { uid, deletionTimestamp, ownerReferences = [] } = claim.metadata;
    if (deletionTimestamp !== undefined) return `persistentvolumeclaim "${claimName}" is being deleted`;
    if (ephemeral !== undefined && !ownerReferences.some((owner) => owner.uid === metadata.uid))
      return `PVC ${metadata.namespace}/${claimName} was not created for pod ${metadata.namespace}/${metadata.name} (pod is not owner)`;
    const { volumeName, storageClassName = "" } = claim.spec ?? {};
    if (claim.status?.phase === "Lost")
      return `persistentvolumeclaim "${claimName}" bound to non-existent persistentvolume "${volumeName}"`;
    if (volumeName && claim.status?.phase === "Bound") {
      chosen.delete(uid);
      const bound = lookup.volume(volumeName);
      if (bound === undefined)
        return `persistentvolumeclaim "${claimName}" bound to non-existent persistentvolume "${volumeName}"`;
      volumes.push(bound);
    } else if (lookup.storageClass(storageClassName)?.volumeBindingMode === "WaitForFirstConsumer")
      waiting.push(uid);
    else return "pod has unbound immediate PersistentVolumeClaims";
  }
  return any ? { volumes, waiting } : undefined;
}

function reaches({ spec }: PersistentVolume, node: NodeInfo["node"]): boolean {
  const required = spec?.nodeAffinity?.required;
  if (required === undefined) return true;
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
  return matchesNode({ affinity: { nodeAffinity } }, node);
}

function rejection(reason: string): Rejection {
  return { plugin: name, reasons: [reason], resolvable: false };
}

function rejectAll(reason: string): PreFilterResult {
  return { type: "reject", rejection: rejection(reason) };
}
