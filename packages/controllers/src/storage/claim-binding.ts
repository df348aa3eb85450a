import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import type { StorageClass } from "@dray/api/storage/v1";
import { type EventRecorder, type Informer, refOf } from "@dray/client";
import { localPathProvisioner } from "./local-path.ts";
import { claimNames, refersTo, smallestFitting } from "./volume-match.ts";
import { type VolumeWrites, wasBound } from "./volume-writes.ts";

const selectedNode = "volume.kubernetes.io/selected-node";

/** What the persistent volume controller reads. */
export interface VolumeCaches {
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  readonly classes: Informer<StorageClass>;
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
}

/**
 * Finds a volume for a claim, or has one made.
 *
 * Upstream: pkg/controller/volume/persistentvolume/pv_controller.go, syncClaim.
 */
export class ClaimBinding {
  readonly #caches: VolumeCaches;
  readonly #writes: VolumeWrites;
  readonly #recorder: EventRecorder;

  constructor(caches: VolumeCaches, writes: VolumeWrites, recorder: EventRecorder) {
    this.#caches = caches;
    this.#writes = writes;
    this.#recorder = recorder;
  }

  async reconcile(key: string): Promise<void> {
    const { claims, volumes } = this.#caches;
    const claim = claims.get(refOf(key));
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
    if (claim.spec?.volumeName) return this.#bindTo(claim, claim.spec.volumeName);
    const reserved = volumes.list().find((volume) => refersTo(volume, claim));
    if (reserved !== undefined) return this.#writes.bind(reserved, claim);
    await this.#writes.setClaimPhase(claim, "Pending");
    await this.#findVolume(claim);
  }

  /** The claim names its volume. */
  async #bindTo(claim: PersistentVolumeClaim, name: string): Promise<void> {
    const volume = this.#caches.volumes.get({ name });
    if (volume !== undefined && (volume.spec?.claimRef === undefined || refersTo(volume, claim)))
      return this.#writes.bind(volume, claim);
    if (wasBound(claim)) return this.#writes.lose(claim);
    return this.#writes.setClaimPhase(claim, "Pending");
  }

  async #findVolume(claim: PersistentVolumeClaim): Promise<void> {
    const found = this.#findClass(claim);
    const waits = found?.volumeBindingMode === "WaitForFirstConsumer";
    const node = waits ? this.#consumerNode(claim) : undefined;
    if (waits && node === undefined) {
      const message = "waiting for first consumer to be created before binding";
      this.#recorder.event(claim, "Normal", "WaitForFirstConsumer", message);
      return;
    }
    const smallest = smallestFitting(this.#caches.volumes.list(), claim, node);
    if (smallest !== undefined) return this.#writes.bind(smallest, claim);
    if (found === undefined) {
      const message = "no persistent volumes available for this claim and no storage class is set";
      this.#recorder.event(claim, "Normal", "FailedBinding", message);
    } else if (found.provisioner === localPathProvisioner) await this.#provision(claim, found, node);
    else {
      const message = `Waiting for a volume to be created either by the external provisioner '${found.provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
      this.#recorder.event(claim, "Normal", "ExternalProvisioning", message);
    }
  }

  #findClass({ spec }: PersistentVolumeClaim): StorageClass | undefined {
    return spec?.storageClassName ? this.#caches.classes.get({ name: spec.storageClassName }) : undefined;
  }

  /** The node that the scheduler has chosen for a claim, or that of a pod that uses it. */
  #consumerNode({ metadata }: PersistentVolumeClaim): Node | undefined {
    const { pods, nodes } = this.#caches;
    const name =
      metadata.annotations?.[selectedNode] ??
      pods
        .byIndex("namespace", metadata.namespace)
        .find((pod) => pod.spec.nodeName && !isPodTerminal(pod) && claimNames(pod).includes(metadata.name))
        ?.spec.nodeName;
    return name === undefined ? undefined : nodes.get({ name });
  }

  async #provision(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
    node: Node | undefined,
  ): Promise<void> {
    const problem = provisioningProblem(claim, storageClass, node);
    if (problem === undefined && node !== undefined) return this.#writes.provision(claim, storageClass, node);
    this.#recorder.event(claim, "Warning", "ProvisioningFailed", problem ?? "");
  }
}

/** Why no volume of the class `local-path` can be made for the claim. */
function provisioningProblem(
  { spec }: PersistentVolumeClaim,
  { metadata }: StorageClass,
  node: Node | undefined,
): string | undefined {
  const { volumeMode = "Filesystem", accessModes = [] } = spec ?? {};
  if (node === undefined)
    return `volumes of the class ${metadata.name} lie on a node: its volumeBindingMode must be WaitForFirstConsumer`;
  if (volumeMode !== "Filesystem")
    return `volumeMode ${volumeMode} is not supported; supported is Filesystem`;
  if (accessModes.includes("ReadWriteMany") || accessModes.includes("ReadOnlyMany"))
    return "only ReadWriteOnce and ReadWriteOncePod are supported: the volume lies on one node";
  return undefined;
}
