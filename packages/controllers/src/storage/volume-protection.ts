import { type Kind, type KubeObject, StatusError } from "@dray/api";
import { PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { VolumeAttributesClass } from "@dray/api/storage/v1";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../context.ts";

/**
 * Lets go of volume claims, volumes and volume attributes classes that are being deleted once nothing uses them any
 * more (the finalizers of the admission plugin StorageObjectInUseProtection).
 */
export async function startVolumeProtection(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const pods = informers.of(Pod);
  const claims = informers.of(PersistentVolumeClaim);
  const volumes = informers.of(PersistentVolume);
  const classes = informers.of(VolumeAttributesClass);
  await synced(context, [pods, claims, volumes, classes]);
  const queues = controllerQueues(context);

  /** Looks at every object of the kind that waits for this finalizer, when one of them or a user of them changes. */
  function protect<T extends KubeObject>(
    kind: Kind<T>,
    finalizer: string,
    inUse: (object: T) => boolean,
  ): () => void {
    const cache = informers.of(kind);
    const queue = queues.queue(finalizer, async (uid) => {
      const object = cache.list().find(({ metadata }) => metadata.uid === uid);
      if (object === undefined || !waits(object) || inUse(object)) return;
      const finalizers = object.metadata.finalizers?.filter((other) => other !== finalizer) ?? [];
      try {
        await client.resource(kind).update({ ...object, metadata: { ...object.metadata, finalizers } });
      } catch (error) {
        // Somebody else has changed it: the change comes by the watch.
        if (!StatusError.is(error, "Conflict") && !StatusError.is(error, "NotFound")) throw error;
      }
    });
    const waits = ({ metadata }: T): boolean =>
      metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(finalizer) === true;
    const changed = (object: T): void => {
      if (waits(object)) queue.add(object.metadata.uid);
    };
    cache.handle({ add: changed, update: changed });
    return () => {
      for (const object of cache.list()) changed(object);
    };
  }

  const lookAtClaims = protect(PersistentVolumeClaim, "kubernetes.io/pvc-protection", (claim) =>
    pods.byIndex("namespace", claim.metadata.namespace).some((pod) => uses(pod, claim.metadata.name)),
  );
  protect(PersistentVolume, "kubernetes.io/pv-protection", ({ status }) => status?.phase === "Bound");
  const lookAtClasses = protect(VolumeAttributesClass, "kubernetes.io/vac-protection", ({ metadata }) =>
    [...claims.list(), ...volumes.list()].some(
      ({ spec }) => spec?.volumeAttributesClassName === metadata.name,
    ),
  );
  pods.handle({ update: lookAtClaims, delete: lookAtClaims });
  claims.handle({ delete: lookAtClasses });
  volumes.handle({ delete: lookAtClasses });
  return queues.controller;
}

/** Whether a pod that has not ended has the claim among its volumes; the claim of an ephemeral volume is named after both. */
function uses(pod: Pod, claim: string): boolean {
  if (isPodTerminal(pod)) return false;
  const { metadata, spec } = pod;
  return (spec.volumes ?? []).some(
    ({ name, persistentVolumeClaim, ephemeral }) =>
      persistentVolumeClaim?.claimName === claim ||
      (ephemeral !== undefined && `${metadata.name}-${name}` === claim),
  );
}
