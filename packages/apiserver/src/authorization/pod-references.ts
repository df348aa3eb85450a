import type { Pod, Volume } from "@dray/api/core/v1";
import { createdPodClaims } from "@dray/api/pod";

type Reference = [resource: string, name: string];

/** Yields resource and name of each namespaced object that a pod's node must be able to read. */
export function* podReferences(pod: Pod): Generator<Reference> {
  const { spec } = pod;
  if (!spec) return;
  if (spec.serviceAccountName) yield ["serviceaccounts", spec.serviceAccountName];
  for (const secret of spec.imagePullSecrets ?? []) if (secret.name) yield ["secrets", secret.name];
  for (const { name } of createdPodClaims(pod)) yield ["resourceclaims", name];
  yield* containerReferences(pod);
  for (const volume of spec.volumes ?? []) yield* volumeReferences(volume, pod.metadata.name);
}

function* containerReferences({ spec }: Pod): Generator<Reference> {
  const containers = [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  for (const container of containers) {
    for (const source of container.envFrom ?? []) {
      if (source.secretRef?.name) yield ["secrets", source.secretRef.name];
      if (source.configMapRef?.name) yield ["configmaps", source.configMapRef.name];
    }
    for (const variable of container.env ?? []) {
      const from = variable.valueFrom;
      if (from?.secretKeyRef?.name) yield ["secrets", from.secretKeyRef.name];
      if (from?.configMapKeyRef?.name) yield ["configmaps", from.configMapKeyRef.name];
    }
  }
}

function* volumeReferences(volume: Volume, podName: string): Generator<Reference> {
  if (volume.configMap?.name) yield ["configmaps", volume.configMap.name];
  if (volume.persistentVolumeClaim) yield ["persistentvolumeclaims", volume.persistentVolumeClaim.claimName];
  // The claim of an ephemeral volume is named after the pod and the volume.
  if (volume.ephemeral) yield ["persistentvolumeclaims", `${podName}-${volume.name}`];
  const secrets = [
    volume.secret?.secretName,
    volume.azureFile?.secretName,
    volume.cephfs?.secretRef?.name,
    volume.cinder?.secretRef?.name,
    volume.flexVolume?.secretRef?.name,
    volume.rbd?.secretRef?.name,
    volume.scaleIO?.secretRef?.name,
    volume.iscsi?.secretRef?.name,
    volume.storageos?.secretRef?.name,
    volume.csi?.nodePublishSecretRef?.name,
  ];
  for (const name of secrets) if (name) yield ["secrets", name];
  for (const source of volume.projected?.sources ?? []) {
    if (source.secret?.name) yield ["secrets", source.secret.name];
    if (source.configMap?.name) yield ["configmaps", source.configMap.name];
  }
}
