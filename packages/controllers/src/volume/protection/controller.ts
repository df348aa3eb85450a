import { type Kind, type KubeObject, StatusError } from "@dray/api";
import { PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { VolumeAttributesClass } from "@dray/api/storage/v1";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../../shared/context.ts";

/**
 * Lets go of volume claims that are being deleted once no pod uses them any more (the finalizer of the
 * admission plugin StorageObjectInUseProtection).
 */
export async function startClaimProtection(context: ControllerContext): Promise<Controller> {
  const { informers } = context;
  const pods = informers.of(Pod);
  await synced(context, [pods]);
  const { controller, enqueueAll } = await protect(
    context,
    PersistentVolumeClaim,
    "kubernetes.io/pvc-protection",
    ({ metadata }) => pods.byIndex("namespace", metadata.namespace).some((pod) => uses(pod, metadata.name)),
  );
  pods.handle({ update: enqueueAll, delete: enqueueAll });
  return controller;
}

/** Removes the finalizer of volumes that are being deleted once they are unbound. */
export async function startVolumeProtection(context: ControllerContext): Promise<Controller> {
  const { controller } = await protect(
    context,
    PersistentVolume,
    "kubernetes.io/pv-protection",
    ({ status }) => status?.phase === "Bound",
  );
  return controller;
}

/**
 * Lets go of volume attributes classes that are being deleted once neither claims nor volumes name them any
 * more.
 */
export async function startAttributesClassProtection(context: ControllerContext): Promise<Controller> {
  const { informers } = context;
  const claims = informers.of(PersistentVolumeClaim);
  const volumes = informers.of(PersistentVolume);
  await synced(context, [claims, volumes]);
  const { controller, enqueueAll } = await protect(
    context,
    VolumeAttributesClass,
    "kubernetes.io/vac-protection",
    ({ metadata }) =>
      [...claims.list(), ...volumes.list()].some(
        ({ spec }) => spec?.volumeAttributesClassName === metadata.name,
      ),
  );
  claims.handle({ update: enqueueAll, delete: enqueueAll });
  volumes.handle({ update: enqueueAll, delete: enqueueAll });
  return controller;
}

/** Names of the queues, by kind. */
const queueNames: Readonly<Record<string, string>> = {
  PersistentVolumeClaim: "pvcprotection",
  PersistentVolume: "pvprotection",
  VolumeAttributesClass: "vacprotection",
};

/** Checks each object of the kind that waits for this finalizer, when it changes or on demand. */
async function protect<T extends KubeObject>(
  context: ControllerContext,
  kind: Kind<T>,
  finalizer: string,
  inUse: (object: T) => boolean,
): Promise<{ readonly controller: Controller; enqueueAll(): void }> {
  const { client, informers } = context;
  const cache = informers.of(kind);
  await synced(context, [cache]);
  const queues = controllerQueues(context);
  const queue = queues.queue(queueNames[kind.kind] ?? finalizer, async (uid) => {
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
  const enqueueAll = (): void => {
    for (const object of cache.list()) changed(object);
  };
  return { controller: queues.controller, enqueueAll };
}

/**
 * Reports whether a pod that has not ended has the claim among its volumes; the claim of an ephemeral volume
 * is named after both.
 */
function uses(pod: Pod, claim: string): boolean {
  if (isPodTerminal(pod)) return false;
  const { metadata, spec } = pod;
  return (spec.volumes ?? []).some(
    ({ name, persistentVolumeClaim, ephemeral }) =>
      persistentVolumeClaim?.claimName === claim ||
      (ephemeral !== undefined && `${metadata.name}-${name}` === claim),
  );
}
