import { labelSelectorOf } from "@dray/api";
import { ControllerRevision, DaemonSet } from "@dray/api/apps/v1";
import { Node, Pod } from "@dray/api/core/v1";
import { keyOf } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { followPods } from "../shared/follow-pods.ts";
import { shouldRunDaemonPod } from "./nodes.ts";
import { type DaemonCaches, DaemonSetSync } from "./sync.ts";

/** Keeps one pod of each DaemonSet on every node that fits, and rolls out changed templates (apps/v1). */
export async function startDaemonSetController(context: ControllerContext): Promise<Controller> {
  const { informers } = context;
  const caches: DaemonCaches = {
    sets: informers.of(DaemonSet),
    pods: informers.of(Pod),
    nodes: informers.of(Node),
    revisions: informers.of(ControllerRevision),
  };
  await synced(context, Object.values(caches));

  const { sets, pods, nodes } = caches;
  const queues = controllerQueues(context);
  const recorder = recorderOf(context, "daemonset-controller");
  const sync = new DaemonSetSync(context, caches, recorder, () => queue);
  const queue = queues.queue("daemonset", (key) => sync.reconcile(key));
  const setChanged = (set: DaemonSet): void => queue.add(keyOf(set.metadata));
  sets.handle({ add: setChanged, update: setChanged, delete: (set) => sync.forget(set) });
  followPods(
    pods,
    { kind: DaemonSet, owners: sets, selectorOf: ({ spec }) => labelSelectorOf(spec.selector) },
    (key) => queue.add(key),
  );
  nodes.handle({
    add(node) {
      for (const set of sets.list()) if (shouldRunDaemonPod(set, node).run) setChanged(set);
    },
    // A node's heartbeat changes nothing for most sets.
    update(node, old) {
      for (const set of sets.list()) {
        const [now, before] = [shouldRunDaemonPod(set, node), shouldRunDaemonPod(set, old)];
        if (now.run !== before.run || now.keep !== before.keep) setChanged(set);
      }
    },
    delete(node) {
      for (const set of sets.list()) if (shouldRunDaemonPod(set, node).keep) setChanged(set);
    },
  });
  return queues.controller;
}
