import { labelSelectorOf, matchesIfValid } from "@dray/api";
import { Deployment, ReplicaSet } from "@dray/api/apps/v1";
import { Pod } from "@dray/api/core/v1";
import { keyOf } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { controllerOf, refersTo } from "../shared/owners.ts";
import { DeploymentSync } from "./sync.ts";
import { DeploymentWrites } from "./writes.ts";

/** Rolls Deployments out: a ReplicaSet for each template, the old ones shrinking as the new one grows. */
export async function startDeploymentController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const deployments = informers.of(Deployment);
  const sets = informers.of(ReplicaSet);
  const pods = informers.of(Pod);
  await synced(context, [deployments, sets, pods]);

  const recorder = recorderOf(context, "deployment-controller");
  const writes = new DeploymentWrites(client, deployments, sets, recorder);
  const queues = controllerQueues(context);
  const sync = new DeploymentSync(context, { deployments, sets, pods }, writes, () => queue);
  const queue = queues.queue("deployment", (key) => sync.reconcile(key));
  const deploymentChanged = (deployment: Deployment): void => queue.add(keyOf(deployment.metadata));
  deployments.handle({ add: deploymentChanged, update: deploymentChanged });

  function setChanged(set: ReplicaSet, old?: ReplicaSet): void {
    const controller = controllerOf(set);
    if (old !== undefined && controllerOf(old)?.uid !== controller?.uid) setChanged(old);
    const { namespace } = set.metadata;
    if (controller !== undefined) {
      if (refersTo(Deployment, controller)) queue.add(keyOf({ namespace, name: controller.name }));
      return;
    }
    for (const deployment of deployments.byIndex("namespace", namespace))
      if (matchesIfValid(() => labelSelectorOf(deployment.spec.selector), set.metadata.labels))
        deploymentChanged(deployment);
  }
  sets.handle({ add: setChanged, update: setChanged, delete: setChanged });

  // A Recreate waits for the last old pod to be gone.
  pods.handle({
    delete(pod) {
      const controller = controllerOf(pod);
      if (controller === undefined || !refersTo(ReplicaSet, controller)) return;
      const set = sets.get({ namespace: pod.metadata.namespace, name: controller.name });
      if (set !== undefined) setChanged(set);
    },
  });
  return queues.controller;
}
