import { tolerates } from "@dray/api";
import { Node, Pod, type Taint } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import { type EventRecorder, type Informer, keyOf, refOf } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { evict } from "../shared/evict.ts";

/**
 * Deletes pods from nodes with NoExecute taints, after the time for which they tolerate them.
 *
 * Upstream: pkg/controller/tainteviction/taint_eviction.go.
 */
export async function startTaintEvictionController(context: ControllerContext): Promise<Controller> {
  const { informers } = context;
  const nodes = informers.of(Node);
  const pods = informers.of(Pod);
  await synced(context, [nodes, pods]);

  const evictions = new TaintEvictions(context, nodes, pods);
  const queues = controllerQueues(context);
  const queue = queues.queue("noexec_taint_pod", async (key) => {
    const wait = await evictions.reconcile(key);
    if (wait > 0) queue.addAfter(key, wait);
  });
  const nodeChanged = (node: Node, old?: Node): void => {
    if (noExecute(node).length === 0 && (old === undefined || noExecute(old).length === 0)) return;
    for (const pod of pods.byIndex("node", node.metadata.name)) queue.add(keyOf(pod.metadata));
  };
  nodes.handle({ add: (node) => nodeChanged(node), update: nodeChanged });
  const podChanged = (pod: Pod): void => {
    const node = pod.spec.nodeName ? nodes.get({ name: pod.spec.nodeName }) : undefined;
    if (node !== undefined && noExecute(node).length > 0) queue.add(keyOf(pod.metadata));
  };
  pods.handle({ add: podChanged, update: podChanged, delete: (pod) => evictions.forget(pod) });
  return queues.controller;
}

class TaintEvictions {
  readonly #context: ControllerContext;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #recorder: EventRecorder;
  /** The uids of pods whose time is running. */
  readonly #pending = new Set<string>();

  constructor(context: ControllerContext, nodes: Informer<Node>, pods: Informer<Pod>) {
    this.#context = context;
    this.#nodes = nodes;
    this.#pods = pods;
    this.#recorder = recorderOf(context, "taint-eviction-controller");
  }

  forget({ metadata }: Pod): void {
    this.#pending.delete(metadata.uid);
  }

  /**
   * Evicts the pod if its time has come. Returns the milliseconds that it still has, 0 if there is nothing to
   * wait for.
   */
  async reconcile(key: string): Promise<number> {
    const { client, clock } = this.#context;
    const pod = this.#pods.get(refOf(key));
    if (pod === undefined || !isPodActive(pod) || !pod.spec.nodeName) return 0;
    const { uid } = pod.metadata;
    const node = this.#nodes.get({ name: pod.spec.nodeName });
    const due = node && evictionTime(pod, noExecute(node));
    if (due === undefined) {
      if (this.#pending.delete(uid))
        this.#recorder.event(pod, "Normal", "TaintManagerEviction", `Cancelling deletion of Pod ${key}`);
      return 0;
    }
    const wait = due - clock.now();
    if (wait > 0) {
      this.#pending.add(uid);
      return wait;
    }
    this.#recorder.event(pod, "Normal", "TaintManagerEviction", `Marking for deletion Pod ${key}`);
    await evict(client, clock, pod, {
      reason: "DeletionByTaintManager",
      message: "Taint manager: deleting due to NoExecute taint",
    });
    this.#pending.delete(uid);
    return 0;
  }
}

function noExecute(node: Node): readonly Taint[] {
  return (node.spec.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}

/**
 * Milliseconds since the epoch at which the pod has to go; undefined: it may stay. Time runs from when both
 * taint and pod were there, so that it does not restart with the controller.
 */
function evictionTime(pod: Pod, taints: readonly Taint[]): number | undefined {
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
