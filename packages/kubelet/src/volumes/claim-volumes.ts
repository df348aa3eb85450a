import { statSync } from "node:fs";
import { matchesNode, StatusError } from "@dray/api";
import { type Node, PersistentVolume, PersistentVolumeClaim, type Pod, type Volume } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import { hostPathPlace } from "./host-path.ts";

/** Location of a claim's volume. */
export interface ClaimPlace {
  readonly place: string;
  /** The node owns it, so that `fsGroup` applies (not to host paths). */
  readonly managed: boolean;
}

/**
 * Volumes of this provisioner are writable for containers of any user.
 *
 * Upstream: rancher/local-path-provisioner, deploy/local-path-storage.yaml, the script `setup`.
 */
const localPathProvisioner = "rancher.io/local-path";
const provisionedBy = "pv.kubernetes.io/provisioned-by";

export interface ClaimVolumesContext {
  readonly client: Client;
  readonly paths: NodePaths;
  node(): Node;
}

/** A pod names a claim, or has an ephemeral one, named after the pod and the volume. */
export function claimNameOf(
  pod: Pod,
  { name, persistentVolumeClaim, ephemeral }: Volume,
): string | undefined {
  if (ephemeral !== undefined) return `${pod.metadata.name}-${name}`;
  return persistentVolumeClaim?.claimName;
}

/**
 * Returns the path on the machine of the volume of a pod's claim, of type hostPath or local. Rejects with an
 * Error that says what is wrong with the claim or its volume.
 *
 * Upstream: pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go, createVolumeSpec,
 * getPVCExtractPV, getPVSpec; pkg/volume/util/operationexecutor/operation_generator.go, checkNodeAffinity.
 */
export async function claimPlace(
  pod: Pod,
  volume: Volume,
  { client, paths, node }: ClaimVolumesContext,
): Promise<ClaimPlace> {
  const { namespace } = pod.metadata;
  const claimName = claimNameOf(pod, volume) ?? "";
  const fault = (problem: string): Error =>
    new Error(`error processing PVC ${namespace}/${claimName}: ${problem}`);
  const claim = await fetched(
    client.resource(PersistentVolumeClaim).get({ namespace, name: claimName }),
    (text) => fault(`failed to fetch PVC from API server: ${text}`),
  );
  if (volume.ephemeral !== undefined && !isOwnedBy(claim, pod))
    throw fault(
      `PVC ${namespace}/${claimName} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`,
    );
  if (claim.metadata.deletionTimestamp !== undefined) throw fault("PVC is being deleted");
  const { volumeName } = claim.spec ?? {};
  if (claim.status?.phase !== "Bound" || !volumeName) throw fault("PVC is not bound");
  const bound = await fetched(client.resource(PersistentVolume).get({ name: volumeName }), (text) =>
    fault(`failed to get PV ${volumeName} from API server: ${text}`),
  );
  const { claimRef, nodeAffinity, volumeMode = "Filesystem", hostPath, local } = bound.spec ?? {};
  if (claimRef === undefined)
    throw fault(
      `found PV object ${volumeName} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to any claim`,
    );
  if (claimRef.uid !== claim.metadata.uid)
    throw fault(
      `found PV object ${volumeName} but its pv.Spec.ClaimRef.UID ${claimRef.uid} does not point to claim.UID ${claim.metadata.uid}`,
    );
  const required = nodeAffinity?.required;
  const affinity = required && { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  if (affinity !== undefined && !matchesNode({ affinity }, node()))
    throw new Error(`node affinity of volume ${volumeName} does not match node ${node().metadata.name}`);
  if (volumeMode !== "Filesystem")
    throw new Error(`volumes of mode ${volumeMode} are not supported on this node; supported is Filesystem`);
  if (hostPath !== undefined) {
    const provisioned = bound.metadata.annotations?.[provisionedBy] === localPathProvisioner;
    return { place: hostPathPlace(hostPath, paths, provisioned ? 0o777 : 0o755), managed: false };
  }
  if (local !== undefined) {
    const place = paths.onMachine(local.path);
    if (!statSync(place, { throwIfNoEntry: false })?.isDirectory())
      throw new Error(`path "${local.path}" does not exist, or is not a directory`);
    return { place, managed: true };
  }
  throw new Error(
    `volume ${volumeName} is of a type that is not supported on this node; supported are hostPath and local`,
  );
}

async function fetched<T>(request: Promise<T>, wrap: (text: string) => Error): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    throw wrap(error.message);
  }
}

function isOwnedBy({ metadata }: PersistentVolumeClaim, pod: Pod): boolean {
  return (metadata.ownerReferences ?? []).some(
    ({ uid, controller }) => controller && uid === pod.metadata.uid,
  );
}
