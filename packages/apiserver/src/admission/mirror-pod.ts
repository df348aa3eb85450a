import type { Pod, Volume } from "@dray/api/core/v1";
import { podReferences } from "../authorization/pod-references.ts";

/** Volumes whose content comes from the node alone, or from sources that the API does not protect. */
const plainVolumes = new Set([
  "awsElasticBlockStore",
  "azureDisk",
  "cephfs",
  "cinder",
  "downwardAPI",
  "emptyDir",
  "fc",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "gitRepo",
  "hostPath",
  "image",
  "iscsi",
  "nfs",
  "photonPersistentDisk",
  "portworxVolume",
  "quobyte",
  "rbd",
  "scaleIO",
  "storageos",
  "vsphereVolume",
]);

const volumeTexts: Readonly<Record<string, string | undefined>> = {
  configMap: "configmaps (via configmap volumes)",
  secret: "secrets (via secret volumes)",
  csi: "csidrivers (via CSI volumes)",
  glusterfs: "endpoints (via glusterFS volumes)",
  persistentVolumeClaim: "persistentvolumeclaims",
  ephemeral: "persistentvolumeclaims (via ephemeral volumes)",
  azureFile: "secrets (via azureFile volumes)",
};

const sourceTexts: Readonly<Record<string, string | undefined>> = {
  configMap: "configmaps (via projected volumes)",
  secret: "secrets (via projected volumes)",
  serviceAccountToken: "serviceaccounts (via projected volumes)",
  clusterTrustBundle: "clustertrustbundles",
  podCertificate: "podcertificates",
};

/** Returns an API resource that a pod refers to; a mirror pod must refer to nothing (undefined). */
export function apiReference(pod: Pod): string | undefined {
  const { spec } = pod;
  if (spec?.serviceAccountName) return "serviceaccounts";
  const named = [...podReferences(pod)].map(([resource]) => resource);
  for (const resource of ["secrets", "configmaps"]) if (named.includes(resource)) return resource;
  if (spec?.resourceClaims?.length) return "resourceclaims";
  for (const volume of spec?.volumes ?? []) {
    const text = volumeReference(volume);
    if (text !== undefined) return text;
  }
  return undefined;
}

function volumeReference(volume: Volume): string | undefined {
  for (const [kind, source] of Object.entries(volume)) {
    if (kind === "name" || plainVolumes.has(kind) || source === undefined) continue;
    if (kind !== "projected") return volumeTexts[kind] ?? kind;
    for (const projected of volume.projected?.sources ?? []) {
      for (const part of Object.keys(projected)) if (sourceTexts[part]) return sourceTexts[part];
    }
  }
  return undefined;
}
