import { labelSelectorOf, matchesNode, Quantity, StatusError } from "@dray/api";
import { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { StorageClass } from "@dray/api/storage/v1";
import { keyOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import {
  dataRemoval,
  isProvisioned,
  localPathProvisioner,
  localPathVolume,
  type RemovalState,
} from "./local-path.ts";

const boundByController = "pv.kubernetes.io/bound-by-controller";
const bindCompleted = "pv.kubernetes.io/bind-completed";
const selectedNode = "volume.kubernetes.io/selected-node";
/** Milliseconds until what could not be bound or removed is looked at again. */
const retryInterval = 15_000;

/**
 * Binds volume claims to volumes that fit, provides volumes of the class `local-path` on the node of the first pod that
 * uses the claim, and removes them with their data when the claim is gone. Volumes of other provisioners are theirs.
 *
 * Upstream: pkg/controller/volume/persistentvolume/pv_controller.go; rancher/local-path-provisioner.
 */
export async function startPersistentVolumeController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const claims = informers.of(PersistentVolumeClaim);
  const volumes = informers.of(PersistentVolume);
  const classes = informers.of(StorageClass);
  const pods = informers.of(Pod);
  const nodes = informers.of(Node);
  await synced(context, [claims, volumes, classes, pods, nodes]);
  const recorder = recorderOf(context, "persistentvolume-controller");
  const queues = controllerQueues(context);
  // One at a time: two claims must not choose one volume.
  const claimQueue = queues.queue("volume claims", (key) => quietly(() => reconcileClaim(key)), 1);
  const volumeQueue = queues.queue("volumes", (name) => quietly(() => reconcileVolume(name)));

  function claimOf(key: string): PersistentVolumeClaim | undefined {
    const [namespace = "", name = ""] = key.split("/");
    return claims.get({ namespace, name });
  }

  async function reconcileClaim(key: string): Promise<void> {
    const claim = claimOf(key);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
    const { volumeName } = claim.spec ?? {};
    if (volumeName) {
      const volume = volumes.get({ name: volumeName });
      const owner = volume?.spec?.claimRef;
      if (volume !== undefined && (owner === undefined || refersTo(volume, claim)))
        return bind(volume, claim);
      const wasBound = claim.metadata.annotations?.[bindCompleted] !== undefined;
      if (volume === undefined && wasBound) return lose(claim);
      if (volume !== undefined && wasBound) return lose(claim);
      return setPhase(claim, "Pending");
    }
    const reserved = volumes.list().find((volume) => refersTo(volume, claim));
    if (reserved !== undefined) return bind(reserved, claim);
    await setPhase(claim, "Pending");
    const found = findClass(claim);
    const waits = found?.volumeBindingMode === "WaitForFirstConsumer";
    const node = waits ? consumerNode(claim) : undefined;
    if (waits && node === undefined) {
      const message = "waiting for first consumer to be created before binding";
      recorder.event(claim, "Normal", "WaitForFirstConsumer", message);
      return;
    }
    const fitting = volumes
      .list()
      .filter((volume) => fits(volume, claim, node))
      .sort((a, b) => capacityOf(a).compare(capacityOf(b)));
    const [smallest] = fitting;
    if (smallest !== undefined) return bind(smallest, claim);
    if (found === undefined) {
      const message = "no persistent volumes available for this claim and no storage class is set";
      recorder.event(claim, "Normal", "FailedBinding", message);
    } else if (found.provisioner === localPathProvisioner) await provision(claim, found, node);
    else {
      const message = `Waiting for a volume to be created either by the external provisioner '${found.provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
      recorder.event(claim, "Normal", "ExternalProvisioning", message);
    }
  }

  function findClass({ spec }: PersistentVolumeClaim): StorageClass | undefined {
    return spec?.storageClassName ? classes.get({ name: spec.storageClassName }) : undefined;
  }

  /** The node that the scheduler has chosen for a claim, or that of a pod that uses it. */
  function consumerNode({ metadata }: PersistentVolumeClaim): Node | undefined {
    const chosen = metadata.annotations?.[selectedNode];
    const name =
      chosen ??
      pods
        .byIndex("namespace", metadata.namespace)
        .find((pod) => pod.spec.nodeName && !isPodTerminal(pod) && claimNames(pod).includes(metadata.name))
        ?.spec.nodeName;
    return name === undefined ? undefined : nodes.get({ name });
  }

  async function provision(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
    node: Node | undefined,
  ): Promise<void> {
    const { volumeMode = "Filesystem", accessModes = [] } = claim.spec ?? {};
    const problem =
      node === undefined
        ? `volumes of the class ${storageClass.metadata.name} lie on a node: its volumeBindingMode must be WaitForFirstConsumer`
        : volumeMode !== "Filesystem"
          ? `volumeMode ${volumeMode} is not supported; supported is Filesystem`
          : accessModes.includes("ReadWriteMany") || accessModes.includes("ReadOnlyMany")
            ? "only ReadWriteOnce and ReadWriteOncePod are supported: the volume lies on one node"
            : undefined;
    if (problem !== undefined || node === undefined) {
      recorder.event(claim, "Warning", "ProvisioningFailed", problem ?? "");
      return;
    }
    const volume = localPathVolume(claim, storageClass, node);
    try {
      await client.resource(PersistentVolume).create(volume);
    } catch (error) {
      if (!StatusError.is(error, "AlreadyExists")) throw error;
      return;
    }
    const message = `Successfully provisioned volume ${volume.metadata.name}`;
    recorder.event(claim, "Normal", "ProvisioningSucceeded", message);
  }

  /** The volume first: should this be cut off, the next look finds it by its reference. */
  async function bind(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<void> {
    let bound = volume;
    if (volume.spec?.claimRef?.uid !== claim.metadata.uid) {
      const { namespace, name, uid, resourceVersion } = claim.metadata;
      const claimRef = {
        kind: "PersistentVolumeClaim",
        apiVersion: "v1",
        namespace,
        name,
        uid,
        resourceVersion,
      };
      const own = volume.spec?.claimRef === undefined ? { [boundByController]: "yes" } : {};
      bound = await client.resource(PersistentVolume).update({
        ...volume,
        metadata: { ...volume.metadata, annotations: { ...volume.metadata.annotations, ...own } },
        spec: { ...volume.spec, claimRef },
      });
    }
    if (bound.status?.phase !== "Bound")
      await client
        .resource(PersistentVolume)
        .update({ ...bound, status: { ...bound.status, phase: "Bound" } }, { subresource: "status" });
    let taken = claim;
    const annotations = claim.metadata.annotations ?? {};
    if (claim.spec?.volumeName !== volume.metadata.name || annotations[bindCompleted] === undefined) {
      const own = claim.spec?.volumeName ? {} : { [boundByController]: "yes" };
      taken = await client.resource(PersistentVolumeClaim).update({
        ...claim,
        metadata: { ...claim.metadata, annotations: { ...annotations, ...own, [bindCompleted]: "yes" } },
        spec: { ...claim.spec, volumeName: volume.metadata.name },
      });
    }
    if (taken.status?.phase === "Bound") return;
    const { accessModes, capacity } = volume.spec ?? {};
    await client.resource(PersistentVolumeClaim).update(
      {
        ...taken,
        status: {
          ...taken.status,
          phase: "Bound",
          ...(accessModes === undefined ? {} : { accessModes }),
          ...(capacity === undefined ? {} : { capacity }),
        },
      },
      { subresource: "status" },
    );
  }

  async function setPhase(claim: PersistentVolumeClaim, phase: string): Promise<void> {
    if (claim.status?.phase === phase) return;
    await client
      .resource(PersistentVolumeClaim)
      .update({ ...claim, status: { ...claim.status, phase } }, { subresource: "status" });
  }

  async function lose(claim: PersistentVolumeClaim): Promise<void> {
    if (claim.status?.phase === "Lost") return;
    await setPhase(claim, "Lost");
    const message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
    recorder.event(claim, "Warning", "ClaimLost", message);
  }

  async function reconcileVolume(name: string): Promise<void> {
    const volume = volumes.get({ name });
    if (volume === undefined) return;
    const { claimRef } = volume.spec ?? {};
    const setVolumePhase = async (phase: string): Promise<void> => {
      if (volume.status?.phase === phase) return;
      await client
        .resource(PersistentVolume)
        .update({ ...volume, status: { ...volume.status, phase } }, { subresource: "status" });
    };
    if (claimRef?.uid === undefined) return setVolumePhase("Available");
    const claim = claimOf(keyOf({ namespace: claimRef.namespace ?? "", name: claimRef.name ?? "" }));
    if (claim !== undefined && claim.metadata.uid === claimRef.uid) {
      claimQueue.add(keyOf(claim.metadata));
      return;
    }
    await setVolumePhase("Released");
    if (volume.spec?.persistentVolumeReclaimPolicy !== "Delete" || !isProvisioned(volume)) return;
    // Its data has been removed, and the pod that did it: nothing would remove another one. The cache may not know yet.
    const current = await client.resource(PersistentVolume).get({ name });
    if (current.metadata.uid !== volume.metadata.uid || current.metadata.deletionTimestamp !== undefined)
      return;
    const done = await removeData(volume);
    if (done === "removed") await client.resource(PersistentVolume).delete({ name });
    else volumeQueue.addAfter(name, done === "failed" ? retryInterval : 1000);
  }

  async function removeData(volume: PersistentVolume): Promise<RemovalState> {
    return dataRemoval({
      client,
      volume,
      node: (name) => nodes.get({ name }),
      pod: (ref) => pods.get(ref),
      failed: (message) => recorder.event(volume, "Warning", "VolumeFailedDelete", message),
    });
  }

  /** What somebody else has changed meanwhile comes by the watch. */
  async function quietly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!StatusError.is(error, "Conflict") && !StatusError.is(error, "NotFound")) throw error;
    }
  }

  const pending = ({ status }: PersistentVolumeClaim): boolean => status?.phase !== "Bound";
  const lookAtPending = (): void => {
    for (const claim of claims.list()) if (pending(claim)) claimQueue.add(keyOf(claim.metadata));
  };
  const claimChanged = (claim: PersistentVolumeClaim): void => claimQueue.add(keyOf(claim.metadata));
  claims.handle({
    add: claimChanged,
    update: claimChanged,
    delete: ({ spec }) => {
      if (spec?.volumeName) volumeQueue.add(spec.volumeName);
    },
  });
  const volumeChanged = ({ metadata }: PersistentVolume): void => {
    volumeQueue.add(metadata.name);
    lookAtPending();
  };
  volumes.handle({
    add: volumeChanged,
    update: volumeChanged,
    delete: ({ spec }) => {
      const { namespace = "", name = "" } = spec?.claimRef ?? {};
      if (name !== "") claimQueue.add(keyOf({ namespace, name }));
    },
  });
  classes.handle({ add: lookAtPending, update: lookAtPending });
  const podChanged = (pod: Pod): void => {
    if (!pod.spec.nodeName || isPodTerminal(pod)) return;
    for (const name of claimNames(pod)) {
      const claim = claims.get({ namespace: pod.metadata.namespace, name });
      if (claim !== undefined && pending(claim)) claimChanged(claim);
    }
  };
  pods.handle({ add: podChanged, update: podChanged });
  return queues.controller;
}

/** The claims that a pod uses: those that it names and those of its ephemeral volumes. */
function claimNames({ metadata, spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) =>
    ephemeral !== undefined ? [`${metadata.name}-${name}`] : (persistentVolumeClaim?.claimName ?? []),
  );
}

function refersTo({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { claimRef } = spec ?? {};
  return (
    claimRef?.name === metadata.name &&
    claimRef.namespace === metadata.namespace &&
    (claimRef.uid === undefined || claimRef.uid === metadata.uid)
  );
}

function capacityOf({ spec }: PersistentVolume): Quantity {
  return Quantity.parse(spec?.capacity?.["storage"] ?? "0");
}

/** Upstream: k8s.io/component-helpers/storage/volume/pv_helpers.go, FindMatchingVolume. */
function fits(volume: PersistentVolume, { spec }: PersistentVolumeClaim, node: Node | undefined): boolean {
  const { claimRef, accessModes = [], storageClassName = "", volumeMode = "Filesystem" } = volume.spec ?? {};
  const required = volume.spec?.nodeAffinity?.required;
  const affinity = required && { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  const request = Quantity.parse(spec?.resources?.requests?.["storage"] ?? "0");
  return (
    claimRef === undefined &&
    volume.metadata.deletionTimestamp === undefined &&
    volume.status?.phase === "Available" &&
    storageClassName === (spec?.storageClassName ?? "") &&
    volumeMode === (spec?.volumeMode ?? "Filesystem") &&
    (spec?.accessModes ?? []).every((mode) => accessModes.includes(mode)) &&
    capacityOf(volume).compare(request) >= 0 &&
    (spec?.selector === undefined || labelSelectorOf(spec.selector).matches(volume.metadata.labels)) &&
    (affinity === undefined || node === undefined || matchesNode({ affinity }, node))
  );
}
