import { Quantity } from "@dray/api";
import { PersistentVolume, PersistentVolumeClaim } from "@dray/api/core/v1";
import { keyOf, refOf } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../../shared/context.ts";
import { isProvisioned } from "../persistentvolume/local-path.ts";

/**
 * Records an event on claims that request more than they have: which driver could expand the volume, or none.
 *
 * Upstream: pkg/controller/volume/expand. The volumes that upstream's controller expands itself do not exist
 * here.
 */
export async function startVolumeExpander(context: ControllerContext): Promise<Controller> {
  const { informers } = context;
  const claims = informers.of(PersistentVolumeClaim);
  const volumes = informers.of(PersistentVolume);
  await synced(context, [claims, volumes]);
  const recorder = recorderOf(context, "volume_expand");
  const queues = controllerQueues(context);
  const queue = queues.queue("volume_expand", reconcile);
  claims.handle({
    // Earlier requests have had their event.
    update(claim, old) {
      if (requestOf(claim) !== requestOf(old)) queue.add(keyOf(claim.metadata));
    },
  });

  async function reconcile(key: string): Promise<void> {
    const claim = claims.get(refOf(key));
    const volume = volumes.get({ name: claim?.spec?.volumeName ?? "" });
    if (claim === undefined || volume?.spec?.claimRef?.uid !== claim.metadata.uid) return;
    const has = Quantity.parse(claim.status?.capacity?.["storage"] ?? "0");
    if (Quantity.parse(requestOf(claim)).compare(has) <= 0) return;
    if (isProvisioned(volume))
      recorder.event(
        claim,
        "Warning",
        "VolumeResizeFailed",
        `volume ${volume.metadata.name} is a folder of its node, whose size nobody limits: it stays at ${has}`,
      );
    else
      recorder.event(
        claim,
        "Normal",
        "ExternalExpanding",
        "waiting for an external controller to expand this PVC",
      );
  }

  return queues.controller;
}

function requestOf({ spec }: PersistentVolumeClaim): string {
  return spec?.resources?.requests?.["storage"] ?? "0";
}
