import { StatusError } from "@dray/api";
import { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { StorageClass } from "@dray/api/storage/v1";
import { keyOf, type WorkQueue } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../../shared/context.ts";
import { ClaimBinding, type VolumeCaches } from "./claim-binding.ts";
import { claimNames } from "./match.ts";
import { VolumeReclaim } from "./reclaim.ts";
import { VolumeWrites } from "./writes.ts";

/**
 * Binds volume claims to volumes that fit, provides volumes of the class `local-path` on the node of the
 * first pod that uses the claim, and removes them with their data when the claim is gone. Volumes of other
 * provisioners are theirs.
 *
 * Upstream: pkg/controller/volume/persistentvolume/pv_controller.go; rancher/local-path-provisioner.
 */
export async function startPersistentVolumeController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const caches: VolumeCaches = {
    claims: informers.of(PersistentVolumeClaim),
    volumes: informers.of(PersistentVolume),
    classes: informers.of(StorageClass),
    pods: informers.of(Pod),
    nodes: informers.of(Node),
  };
  await synced(context, Object.values(caches));
  const recorder = recorderOf(context, "persistentvolume-controller");
  const writes = new VolumeWrites(client, recorder);
  const binding = new ClaimBinding(caches, writes, recorder);
  const queues = controllerQueues(context);
  // One at a time: two claims must not choose one volume.
  const claims = queues.queue("claims", (key) => quietly(() => binding.reconcile(key)), 1);
  const reclaim = new VolumeReclaim({ client, caches, writes, recorder, claimQueue: claims });
  const volumes = queues.queue("volumes", (name) =>
    quietly(async () => {
      const wait = await reclaim.reconcile(name);
      if (wait > 0) volumes.addAfter(name, wait);
    }),
  );
  follow(caches, claims, volumes);
  return queues.controller;
}

/** Ignores conflicts and missing objects: the watch brings the change. */
async function quietly(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!StatusError.is(error, "Conflict") && !StatusError.is(error, "NotFound")) throw error;
  }
}

/** Adds what each change concerns. */
function follow(
  { claims, volumes, classes, pods }: VolumeCaches,
  claimQueue: WorkQueue,
  volumeQueue: WorkQueue,
): void {
  const isPending = ({ status }: PersistentVolumeClaim): boolean => status?.phase !== "Bound";
  const claimChanged = (claim: PersistentVolumeClaim): void => claimQueue.add(keyOf(claim.metadata));
  const enqueuePending = (): void => claims.list().filter(isPending).forEach(claimChanged);
  claims.handle({
    add: claimChanged,
    update: claimChanged,
    delete: ({ spec }) => {
      if (spec?.volumeName) volumeQueue.add(spec.volumeName);
    },
  });
  const volumeChanged = ({ metadata }: PersistentVolume): void => {
    volumeQueue.add(metadata.name);
    enqueuePending();
  };
  volumes.handle({
    add: volumeChanged,
    update: volumeChanged,
    delete: ({ spec }) => {
      const { namespace = "", name = "" } = spec?.claimRef ?? {};
      if (name !== "") claimQueue.add(keyOf({ namespace, name }));
    },
  });
  classes.handle({ add: enqueuePending, update: enqueuePending });
  const podChanged = (pod: Pod): void => {
    if (!pod.spec.nodeName || isPodTerminal(pod)) return;
    for (const name of claimNames(pod)) {
      const claim = claims.get({ namespace: pod.metadata.namespace, name });
      if (claim !== undefined && isPending(claim)) claimChanged(claim);
    }
  };
  pods.handle({ add: podChanged, update: podChanged });
}
