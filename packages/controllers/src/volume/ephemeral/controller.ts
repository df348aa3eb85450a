import { StatusError } from "@dray/api";
import { PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { keyOf } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../../shared/context.ts";
import { controllerReference } from "../../shared/owners.ts";

/**
 * Makes the claims of pods' ephemeral volumes, which go with their pod (KEP-1698).
 *
 * Upstream: pkg/controller/volume/ephemeral/controller.go.
 */
export async function startEphemeralVolumeController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const pods = informers.of(Pod);
  const claims = informers.of(PersistentVolumeClaim);
  await synced(context, [pods, claims]);
  const recorder = recorderOf(context, "ephemeral_volume");
  const queues = controllerQueues(context);
  const queue = queues.queue("ephemeral_volume", async (key) => {
    const [namespace = "", name = ""] = key.split("/");
    const pod = pods.get({ namespace, name });
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod)) return;
    for (const { name: volume, ephemeral } of pod.spec.volumes ?? []) {
      if (ephemeral?.volumeClaimTemplate === undefined) continue;
      const claimName = `${name}-${volume}`;
      const there = claims.get({ namespace, name: claimName });
      if (there?.metadata.ownerReferences?.some(({ uid }) => uid === pod.metadata.uid)) continue;
      try {
        if (there !== undefined)
          throw new Error(
            `PVC ${namespace}/${claimName} was not created for pod ${namespace}/${name} (pod is not owner)`,
          );
        const { metadata = {}, spec } = ephemeral.volumeClaimTemplate;
        await client.resource(PersistentVolumeClaim).create({
          metadata: {
            namespace,
            name: claimName,
            ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
            ...(metadata.annotations === undefined ? {} : { annotations: metadata.annotations }),
            ownerReferences: [controllerReference(Pod, pod)],
          },
          spec,
        });
      } catch (error) {
        if (StatusError.is(error, "AlreadyExists")) continue;
        const message = `ephemeral volume ${volume}: create PVC ${claimName}: ${(error as Error).message}`;
        recorder.event(pod, "Warning", "FailedCreate", message);
        if (error instanceof StatusError) throw error;
      }
    }
  });
  const changed = (pod: Pod): void => {
    if (pod.spec.volumes?.some(({ ephemeral }) => ephemeral !== undefined)) queue.add(keyOf(pod.metadata));
  };
  pods.handle({ add: changed });
  claims.handle({
    delete: ({ metadata }) => {
      for (const { kind, name } of metadata.ownerReferences ?? [])
        if (kind === "Pod") queue.add(keyOf({ namespace: metadata.namespace, name }));
    },
  });
  return queues.controller;
}
