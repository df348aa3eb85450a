import { tolerates } from "@dray/api";
import { Node, Pod, type Taint } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import { keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { evict } from "./evict.ts";

/** Deletes pods from nodes with NoExecute taints, after the time for which they tolerate them. */
export async function startTaintEvictionController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const nodes = informers.of(Node);
  const pods = informers.of(Pod);
  const recorder = recorderOf(context, "taint-eviction-controller");
  await synced(context, [nodes, pods]);

  const queues = controllerQueues(context);
  const queue = queues.queue("taint-eviction", reconcile);
  const nodeChanged = (node: Node): void => {
    if (noExecute(node).length === 0) return;
    for (const pod of pods.byIndex("node", node.metadata.name)) queue.add(keyOf(pod.metadata));
  };
  nodes.handle({ add: nodeChanged, update: nodeChanged });
  const podChanged = (pod: Pod): void => {
    const node = pod.spec.nodeName ? nodes.get({ name: pod.spec.nodeName }) : undefined;
    if (node !== undefined && noExecute(node).length > 0) queue.add(keyOf(pod.metadata));
  };
  pods.handle({ add: podChanged, update: podChanged });

  async function reconcile(key: string): Promise<void> {
    const pod = pods.get(refOf(key));
    if (pod === undefined || !isPodActive(pod) || !pod.spec.nodeName) return;
    const node = nodes.get({ name: pod.spec.nodeName });
    if (node === undefined) return;
    const due = evictionTime(pod, noExecute(node));
    if (due === undefined) return;
    if (due > clock.now()) return queue.addAfter(key, due - clock.now());
    recorder.event(pod, "Normal", "TaintManagerEviction", `Marking for deletion Pod ${key}`);
    await evict(client, clock, pod, {
      reason: "DeletionByTaintManager",
      message: "Taint manager: deleting due to NoExecute taint",
    });
  }

  return queues.controller;
}

function noExecute(node: Node): readonly Taint[] {
  return (node.spec.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}

/**
 * Milliseconds since the epoch at which the pod has to go; undefined: it may stay. Time runs from when both taint and
 * pod were there, so that it does not begin anew with each restart of the controller.
 */
export function evictionTime(pod: Pod, taints: readonly Taint[]): number | undefined {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled")?.lastTransitionTime;
  const since = Date.parse(scheduled ?? pod.metadata.creationTimestamp);
  let due: number | undefined;
  for (const taint of taints) {
    const begin = Math.max(since, taint.timeAdded === undefined ? 0 : Date.parse(taint.timeAdded));
    const matching = (pod.spec.tolerations ?? []).filter((toleration) => tolerates(toleration, taint));
    if (matching.length === 0) return 0;
    for (const { tolerationSeconds } of matching) {
      if (tolerationSeconds === undefined) continue;
      const end = begin + Math.max(0, Number(tolerationSeconds)) * 1000;
      due = due === undefined ? end : Math.min(due, end);
    }
  }
  return due;
}
