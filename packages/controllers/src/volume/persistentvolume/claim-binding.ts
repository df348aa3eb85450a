import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import type { StorageClass } from "@dray/api/storage/v1";
import { type EventRecorder, type Informer, refOf } from "@dray/client";
import { localPathProvisioner } from "./local-path.ts";
import { claimNames, classOfClaim, holds, mismatch, refersTo, smallestFitting } from "./match.ts";
import { type VolumeWrites, wasBound } from "./writes.ts";

/** Class of volumes that only people make. */
const noProvisioner = "kubernetes.io/no-provisioner";
const defaultMarks = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];
const selectedNode = "volume.kubernetes.io/selected-node";

/** Informers of the persistent volume controller. */
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
    const reserved = volumes.list().find((volume) => refersTo(volume, claim) && holds(volume, claim));
    if (reserved !== undefined) return this.#writes.bind(reserved, claim);
    await this.#writes.setClaimPhase(claim, "Pending");
    await this.#findVolume(claim);
  }

  /** The claim names its volume. */
  async #bindTo(claim: PersistentVolumeClaim, name: string): Promise<void> {
    const volume = this.#caches.volumes.get({ name });
    const isFree = volume !== undefined && volume.spec?.claimRef === undefined;
    const why = isFree && !wasBound(claim) ? mismatch(volume, claim) : undefined;
    if (volume !== undefined && why === undefined && (isFree || refersTo(volume, claim)))
      return this.#writes.bind(volume, claim);
    if (wasBound(claim)) return this.#writes.lose(claim);
    if (why !== undefined)
      this.#report(claim, "Warning", "VolumeMismatch", `Cannot bind to requested volume "${name}": ${why}`);
    else if (volume !== undefined)
      this.#report(claim, "Warning", "FailedBinding", `volume "${name}" already bound to a different claim.`);
    return this.#writes.setClaimPhase(claim, "Pending");
  }

  #report(claim: PersistentVolumeClaim, type: "Normal" | "Warning", reason: string, message: string): void {
    this.#recorder.event(claim, type, reason, message);
  }

  async #findVolume(claim: PersistentVolumeClaim): Promise<void> {
    const { classes, volumes } = this.#caches;
    const className = classOfClaim(claim);
    const found = className ? classes.get({ name: className }) : undefined;
    const waits = found?.volumeBindingMode === "WaitForFirstConsumer";
    const node = waits ? this.#consumerNode(claim) : undefined;
    if (waits && node === undefined) return this.#recordWaiting(claim);
    const smallest = smallestFitting(volumes.list(), claim, node);
    if (smallest !== undefined) return this.#writes.bind(smallest, claim);
    if (className === undefined) {
      const chosen = defaultClass(classes.list());
      if (chosen !== undefined) return this.#writes.setClass(claim, chosen.metadata.name);
    }
    if (className) return this.#provide(claim, className, found, node);
    const message = "no persistent volumes available for this claim and no storage class is set";
    this.#report(claim, "Normal", "FailedBinding", message);
  }

  /** The scheduler chooses the node. */
  #recordWaiting(claim: PersistentVolumeClaim): void {
    const { namespace, name } = claim.metadata;
    const names = this.#caches.pods
      .byIndex("namespace", namespace)
      .filter((pod) => !pod.spec.nodeName && !isPodTerminal(pod) && claimNames(pod).includes(name))
      .map(({ metadata }) => metadata.name);
    if (names.length === 0) {
      const message = "waiting for first consumer to be created before binding";
      this.#report(claim, "Normal", "WaitForFirstConsumer", message);
      return;
    }
    const who = names.length === 1 ? `pod ${names[0]}` : `pods ${names.join(",")}`;
    this.#report(claim, "Normal", "WaitForPodScheduled", `waiting for ${who} to be scheduled`);
  }

  /** Has a volume of the class made. */
  async #provide(
    claim: PersistentVolumeClaim,
    className: string,
    found: StorageClass | undefined,
    node: Node | undefined,
  ): Promise<void> {
    const problem = provisioningProblem(claim, className, found, node);
    if (problem !== undefined) return this.#report(claim, "Warning", "ProvisioningFailed", problem);
    if (found?.provisioner === localPathProvisioner && node !== undefined)
      return this.#writes.provision(claim, found, node);
    const provisioner = found?.provisioner ?? "";
    await this.#writes.setProvisioner(claim, provisioner);
    const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
    this.#report(claim, "Normal", "ExternalProvisioning", message);
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
}

/** Returns why no volume of the class is provisioned for the claim. */
function provisioningProblem(
  { spec }: PersistentVolumeClaim,
  className: string,
  found: StorageClass | undefined,
  node: Node | undefined,
): string | undefined {
  if (found === undefined) return `storageclass.storage.k8s.io "${className}" not found`;
  if (found.provisioner === noProvisioner) return `no volume plugin matched name: ${noProvisioner}`;
  if (found.provisioner !== localPathProvisioner) return undefined;
  const { volumeMode = "Filesystem", accessModes = [] } = spec ?? {};
  if (node === undefined)
    return `volumes of the class ${className} lie on a node: its volumeBindingMode must be WaitForFirstConsumer`;
  if (volumeMode !== "Filesystem")
    return `volumeMode ${volumeMode} is not supported; supported is Filesystem`;
  if (accessModes.includes("ReadWriteMany") || accessModes.includes("ReadOnlyMany"))
    return "only ReadWriteOnce and ReadWriteOncePod are supported: the volume lies on one node";
  return undefined;
}

/**
 * The newest default class, then the first by name. Upstream: pkg/volume/util/storageclass.go,
 * GetDefaultClass.
 */
function defaultClass(classes: readonly StorageClass[]): StorageClass | undefined {
  const marked = classes.filter(({ metadata }) =>
    defaultMarks.some((mark) => metadata.annotations?.[mark] === "true"),
  );
  const [newest] = marked.sort((a, b) => {
    const [one, other] = [a.metadata, b.metadata];
    if (one.creationTimestamp !== other.creationTimestamp)
      return one.creationTimestamp > other.creationTimestamp ? -1 : 1;
    return one.name < other.name ? -1 : 1;
  });
  return newest;
}
