import type { KubeObject } from "@dray/api";
import type { PersistentVolume, Pod, SecretReference } from "@dray/api/core/v1";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";
import { podReferences } from "./pod-references.ts";

/** Resources with a field that names their node. */
const onNode: Readonly<Record<string, string | undefined>> = {
  "/pods": "pods",
  "resource.k8s.io/resourceslices": "resourceslices",
  "storage.k8s.io/volumeattachments": "volumeattachments",
  "certificates.k8s.io/podcertificaterequests": "podcertificaterequests",
};

/**
 * Maps nodes to the objects that belong to them or are needed by their pods. Updated by the events of pods.
 */
export class NodeGraph {
  readonly #storage: Storage;
  /** `node|resource|namespace/name` with the number of pods that refer to it. */
  readonly #counts = new Map<string, number>();

  constructor(storage: Storage) {
    this.#storage = storage;
    const pods = storage.cache("pods");
    for (const { object } of pods.range(pods.prefix)) this.#add(object, 1);
    pods.subscribe((event) => {
      if (event.previous) this.#add(event.previous, -1);
      if (event.type !== "DELETED") this.#add(event.object, 1);
    });
  }

  /** `resource` with its group: `/secrets`. */
  has(node: string, resource: string, namespace: string, name: string): boolean {
    const own = onNode[resource];
    if (own !== undefined) {
      const object = this.#storage.cache(own).get(objectKey(own, namespace, name))?.object;
      return (object as { spec?: { nodeName?: string } } | undefined)?.spec?.nodeName === node;
    }
    const plain = resource.slice(resource.indexOf("/") + 1);
    if (this.#counts.has(`${node}|${plain}|${namespace}/${name}`)) return true;
    if (resource === "/persistentvolumes") {
      const volume = this.#storage.cache(plain).get(objectKey(plain, "", name))?.object;
      return this.#isMounted(node, volume as PersistentVolume | undefined);
    }
    return resource === "/secrets" && this.#isOfVolume(node, namespace, name);
  }

  #isMounted(node: string, volume: PersistentVolume | undefined): boolean {
    const claim = volume?.spec?.claimRef;
    return (
      claim !== undefined &&
      this.#counts.has(`${node}|persistentvolumeclaims|${claim.namespace ?? ""}/${claim.name ?? ""}`)
    );
  }

  /** Reports whether the secret is needed to mount a volume of one of the node's pods. */
  #isOfVolume(node: string, namespace: string, name: string): boolean {
    const cache = this.#storage.cache("persistentvolumes");
    for (const { object } of cache.range(cache.prefix)) {
      const volume = object as PersistentVolume;
      if (!this.#isMounted(node, volume)) continue;
      for (const secret of volumeSecrets(volume)) {
        if (secret.name === name && secret.namespace === namespace) return true;
      }
    }
    return false;
  }

  #add(object: KubeObject, by: 1 | -1): void {
    const pod = object as Pod;
    const node = pod.spec?.nodeName;
    // A mirror pod represents a static pod: its references grant nothing.
    if (!node || pod.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined) return;
    for (const [resource, name] of podReferences(pod)) {
      const key = `${node}|${resource}|${pod.metadata.namespace}/${name}`;
      const count = (this.#counts.get(key) ?? 0) + by;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
    }
  }
}

/**
 * Yields the secrets that the kubelet needs to mount a volume; in the claim's namespace if the volume names
 * none.
 */
function* volumeSecrets({ spec }: PersistentVolume): Generator<SecretReference> {
  if (!spec) return;
  const home = spec.claimRef?.namespace ?? "";
  const references = [
    spec.azureFile && { name: spec.azureFile.secretName, namespace: spec.azureFile.secretNamespace ?? home },
    spec.cephfs?.secretRef,
    spec.cinder?.secretRef,
    spec.flexVolume?.secretRef,
    spec.rbd?.secretRef,
    spec.scaleIO?.secretRef,
    spec.iscsi?.secretRef,
    spec.storageos?.secretRef,
    spec.csi?.nodePublishSecretRef,
    spec.csi?.nodeStageSecretRef,
    spec.csi?.nodeExpandSecretRef,
  ];
  for (const reference of references) {
    if (reference?.name) yield { name: reference.name, namespace: reference.namespace || home };
  }
}
