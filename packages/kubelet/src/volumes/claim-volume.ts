import { statSync } from "node:fs";
import { matchesNode, StatusError } from "@dray/api";
import { PersistentVolume, PersistentVolumeClaim, type Pod } from "@dray/api/core/v1";
import { hostPathOnMachine } from "./kinds/host-path.ts";
import type { SetUpVolume, VolumeHost } from "./plugin.ts";

interface ClaimVolume {
  readonly pod: Pod;
  readonly claimName: string;
  /** The claim was made for the pod. */
  readonly isOwned: boolean;
  readonly readOnly: boolean;
  /** The volumes of the pod were not set up since the agent started. */
  readonly isFirst: boolean;
}

/**
 * Volumes of this provisioner are writable for containers of any user.
 *
 * Upstream: rancher/local-path-provisioner, deploy/local-path-storage.yaml, the script `setup`.
 */
const localPathProvisioner = "rancher.io/local-path";
const provisionedBy = "pv.kubernetes.io/provisioned-by";

/**
 * Returns the volume to which a claim of a pod is bound, of type hostPath or local. Rejects with an Error
 * that says what is wrong with the claim or its volume.
 *
 * Upstream: pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go, createVolumeSpec,
 * getPVCExtractPV, getPVSpec; pkg/volume/util/operationexecutor/operation_generator.go, checkNodeAffinity.
 */
export async function claimVolume(volume: ClaimVolume, host: VolumeHost): Promise<SetUpVolume> {
  return { ...(await boundVolume(volume, host)), claim: volume.claimName };
}

async function boundVolume(
  { pod, claimName, isOwned, readOnly, isFirst }: ClaimVolume,
  { client, paths, node }: VolumeHost,
): Promise<SetUpVolume> {
  const { namespace } = pod.metadata;
  const fault = (problem: string): Error =>
    new Error(`error processing PVC ${namespace}/${claimName}: ${problem}`);
  const claim = await fetched(
    client.resource(PersistentVolumeClaim).get({ namespace, name: claimName }),
    (text) => fault(`failed to fetch PVC from API server: ${text}`),
  );
  if (isOwned && !isOwnedBy(claim, pod))
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
    return { path: hostPathOnMachine(hostPath, paths, provisioned ? 0o777 : 0o755), readOnly };
  }
  if (local !== undefined) {
    const path = paths.onMachine(local.path);
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
      throw new Error(`path "${local.path}" does not exist, or is not a directory`);
    // Once, before the containers start: files that they write later are theirs.
    if (readOnly || !isFirst) return { path, readOnly };
    const { fsGroupChangePolicy } = pod.spec.securityContext ?? {};
    return {
      path,
      readOnly,
      fsGroupPolicy: fsGroupChangePolicy === "OnRootMismatch" ? "OnRootMismatch" : "Always",
    };
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
