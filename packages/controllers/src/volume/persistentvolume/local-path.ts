import { type Draft, StatusError } from "@dray/api";
import { type Node, type PersistentVolume, type PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import type { StorageClass } from "@dray/api/storage/v1";
import type { Client } from "@dray/client";

/** As the provisioner that many small clusters have, so that its manifests mean the same here. */
export const localPathProvisioner = "rancher.io/local-path";
const provisionedBy = "pv.kubernetes.io/provisioned-by";
/** On each node; the node's own, so that two nodes of one machine do not share it. */
const folder = "/var/lib/local-path-provisioner";
const helperNamespace = "kube-system";

/** The default class of a cluster: volumes are folders on the node of their first pod. */
export const localPathStorageClass: Draft<StorageClass> = {
  metadata: {
    name: "local-path",
    annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
  },
  provisioner: localPathProvisioner,
  reclaimPolicy: "Delete",
  volumeBindingMode: "WaitForFirstConsumer",
};

/** The volume of a claim on a node; the node's agent makes the folder. */
export function localPathVolume(
  { metadata, spec }: PersistentVolumeClaim,
  storageClass: StorageClass,
  node: Node,
): Draft<PersistentVolume> {
  const { namespace, name, uid } = metadata;
  const volume = `pvc-${uid}`;
  const hostname = node.metadata.labels?.["kubernetes.io/hostname"] ?? node.metadata.name;
  return {
    metadata: { name: volume, annotations: { [provisionedBy]: localPathProvisioner } },
    spec: {
      capacity: { storage: spec?.resources?.requests?.["storage"] ?? "0" },
      accessModes: spec?.accessModes ?? ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
      storageClassName: storageClass.metadata.name,
      volumeMode: "Filesystem",
      hostPath: { path: `${folder}/${volume}_${namespace}_${name}`, type: "DirectoryOrCreate" },
      claimRef: { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name, uid },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [hostname] }] },
          ],
        },
      },
    },
  };
}

/** True for a volume that this provisioner has made, and may remove. */
export function isProvisioned({ metadata, spec }: PersistentVolume): boolean {
  const path = spec?.hostPath?.path ?? "";
  const within = path.startsWith(`${folder}/`) && !path.split("/").includes("..");
  return metadata.annotations?.[provisionedBy] === localPathProvisioner && within;
}

export type RemovalState = "removed" | "underway" | "failed";

export interface RemovalOptions {
  readonly client: Client;
  readonly volume: PersistentVolume;
  node(name: string): Node | undefined;
  pod(ref: { namespace: string; name: string }): Pod | undefined;
  failed(message: string): void;
}

/** Removes the data of a volume by a pod on its node, which alone reaches it; called until that is done. */
export async function dataRemoval(options: RemovalOptions): Promise<RemovalState> {
  const { client, volume, failed } = options;
  const [term] = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const nodeName = term?.matchExpressions?.[0]?.values?.[0] ?? "";
  // With the node its data is gone.
  if (options.node(nodeName) === undefined) return "removed";
  const ref = { namespace: helperNamespace, name: `delete-${volume.metadata.name}` };
  const pod = options.pod(ref);
  if (pod === undefined) {
    try {
      await client.resource(Pod).create(removalPod(volume, nodeName, ref));
    } catch (error) {
      if (!StatusError.is(error, "AlreadyExists")) throw error;
    }
    return "underway";
  }
  const { phase } = pod.status ?? {};
  if (phase !== "Succeeded" && phase !== "Failed") return "underway";
  const reason = pod.status?.containerStatuses?.[0]?.state?.terminated?.message ?? pod.status?.message ?? "";
  await client.resource(Pod).delete(ref, { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } });
  if (phase === "Succeeded") return "removed";
  failed(`the data of volume ${volume.metadata.name} on node ${nodeName} could not be removed: ${reason}`);
  return "failed";
}

function removalPod(
  { spec }: PersistentVolume,
  nodeName: string,
  metadata: { readonly namespace: string; readonly name: string },
): Draft<Pod> {
  return {
    metadata,
    spec: {
      nodeName,
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      tolerations: [{ operator: "Exists" }],
      volumes: [{ name: "data", hostPath: { path: folder, type: "DirectoryOrCreate" } }],
      containers: [
        {
          name: "helper",
          image: "busybox:1.37",
          command: ["rm", "-rf", spec?.hostPath?.path ?? ""],
          terminationMessagePolicy: "FallbackToLogsOnError",
          volumeMounts: [{ name: "data", mountPath: folder }],
        },
      ],
    },
  };
}
