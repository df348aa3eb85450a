import { StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { keyOf, refOf } from "@dray/client";
import { podGroupName } from "../shared/claim-consumers.ts";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { servedPodGroups } from "../shared/served-kinds.ts";
import type { ServedResources } from "../shared/served-resources.ts";

/** Set by the admission plugin PodGroupProtection. */
const finalizer = "scheduling.k8s.io/podgroup-protection";

/**
 * Removes the protection finalizer of a PodGroup that is being deleted once all of its pods have terminated.
 *
 * Upstream: pkg/controller/scheduling/podgroupprotection.
 */
export async function startPodGroupProtectionController(
  context: ControllerContext,
  served: ServedResources,
): Promise<Controller> {
  const { client, informers } = context;
  const queues = controllerQueues(context);
  const kind = servedPodGroups(context, served);
  if (kind === undefined) return queues.controller;
  const groups = informers.of(kind);
  const pods = informers.of(Pod);
  await synced(context, [groups, pods]);

  const queue = queues.queue("podgroupprotection", async (key) => {
    const group = groups.get(refOf(key));
    if (group === undefined || !waits(group)) return;
    if (pods.byIndex("podGroup", key).some((pod) => !isPodTerminal(pod))) return;
    const finalizers = group.metadata.finalizers?.filter((other) => other !== finalizer) ?? [];
    try {
      await client.resource(kind).update({ ...group, metadata: { ...group.metadata, finalizers } });
    } catch (error) {
      // Somebody else has changed it: the change comes by the watch.
      if (!StatusError.is(error, "Conflict") && !StatusError.is(error, "NotFound")) throw error;
    }
  });
  const groupChanged = (group: PodGroup): void => {
    if (waits(group)) queue.add(keyOf(group.metadata));
  };
  groups.handle({ add: groupChanged, update: groupChanged });
  const podChanged = (pod: Pod): void => {
    const name = podGroupName(pod);
    if (name !== undefined) queue.add(keyOf({ namespace: pod.metadata.namespace, name }));
  };
  pods.handle({ update: podChanged, delete: podChanged });
  return queues.controller;
}

function waits({ metadata }: PodGroup): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(finalizer) === true;
}
