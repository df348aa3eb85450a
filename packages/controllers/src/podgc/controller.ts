import { StatusError } from "@dray/api";
import { Node, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { type Informer, keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { failAndDelete } from "../shared/evict.ts";

/**
 * Milliseconds for which a node must have been gone before its pods are taken as lost. Upstream:
 * quarantineTime.
 */
const quarantine = 40_000;
/** Milliseconds between two counts of the pods that have ended. Upstream: gcCheckPeriod. */
const checkInterval = 20_000;
/** Key of the one item of the queue that counts pods. */
const everyPod = "pods";
const outOfServiceTaint = "node.kubernetes.io/out-of-service";

export interface PodGarbageOptions {
  /** Maximum number of pods that have ended and are kept; 0 keeps all of them. */
  readonly maxTerminatedPods?: number | undefined;
}

/**
 * Deletes pods that no kubelet will: those of nodes that are gone, deleted ones that never got a node or
 * whose node is out of service, and the oldest of those that have ended.
 *
 * Upstream: pkg/controller/podgc/gc_controller.go.
 */
export async function startPodGarbageCollector(
  context: ControllerContext,
  { maxTerminatedPods = 12_500 }: PodGarbageOptions = {},
): Promise<Controller> {
  const { informers } = context;
  const nodes = informers.of(Node);
  const pods = informers.of(Pod);
  await synced(context, [nodes, pods]);

  const garbage = new PodGarbage(context, nodes, pods, maxTerminatedPods);
  const queues = controllerQueues(context);
  const nodeQueue = queues.queue("orphaned_pods_nodes", async (name) => {
    const wait = await garbage.reconcileNode(name);
    if (wait > 0) nodeQueue.addAfter(name, wait);
  });
  const podQueue = queues.queue("pod-gc/pods", (key) => garbage.reconcilePod(key));
  const endQueue = queues.queue("pod-gc/ended", () => garbage.reconcileEnded());
  nodes.handle({
    add: (node) => garbage.found(node),
    update(node) {
      if (!isOutOfService(node)) return;
      for (const { metadata } of pods.byIndex("node", node.metadata.name))
        if (metadata.deletionTimestamp !== undefined) podQueue.add(keyOf(metadata));
    },
    delete: (node) => nodeQueue.add(node.metadata.name),
  });
  const podChanged = (pod: Pod, old?: Pod): void => {
    const { nodeName } = pod.spec;
    if (nodeName && nodes.get({ name: nodeName }) === undefined) nodeQueue.add(nodeName);
    if (pod.metadata.deletionTimestamp !== undefined) podQueue.add(keyOf(pod.metadata));
    const ended = isPodTerminal(pod) && (old === undefined || !isPodTerminal(old));
    if (ended && maxTerminatedPods > 0) endQueue.addAfter(everyPod, checkInterval);
  };
  pods.handle({ add: (pod) => podChanged(pod), update: podChanged });
  return queues.controller;
}

class PodGarbage {
  readonly #context: ControllerContext;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #maxTerminated: number;
  /** Since when a node that pods name has been missing. */
  readonly #missing = new Map<string, number>();

  constructor(context: ControllerContext, nodes: Informer<Node>, pods: Informer<Pod>, maxTerminated: number) {
    this.#context = context;
    this.#nodes = nodes;
    this.#pods = pods;
    this.#maxTerminated = maxTerminated;
  }

  found({ metadata }: Node): void {
    this.#missing.delete(metadata.name);
  }

  /**
   * Deletes the pods of a node that is gone. Returns the milliseconds after which to look again, if it may
   * come back.
   */
  async reconcileNode(name: string): Promise<number> {
    const { client, clock } = this.#context;
    if (this.#nodes.get({ name }) !== undefined || this.#pods.byIndex("node", name).length === 0) {
      this.#missing.delete(name);
      return 0;
    }
    const since = this.#missing.get(name) ?? clock.now();
    this.#missing.set(name, since);
    const wait = since + quarantine - clock.now();
    if (wait > 0) return wait;
    // The cache may be behind: to delete the pods of a live node would be bad.
    if (await this.#exists(name)) return 0;
    const disruption = { reason: "DeletionByPodGC", message: "PodGC: node no longer exists" };
    for (const pod of this.#pods.byIndex("node", name)) await failAndDelete(client, clock, pod, disruption);
    this.#missing.delete(name);
    return 0;
  }

  async #exists(name: string): Promise<boolean> {
    try {
      await this.#context.client.resource(Node).get({ name });
      return true;
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
      return false;
    }
  }

  /** Deletes a pod whose deletion no kubelet finishes. */
  async reconcilePod(key: string): Promise<void> {
    const { client, clock } = this.#context;
    const pod = this.#pods.get(refOf(key));
    if (pod?.metadata.deletionTimestamp === undefined) return;
    const { nodeName } = pod.spec;
    const node = nodeName ? this.#nodes.get({ name: nodeName }) : undefined;
    if (nodeName && (node === undefined || !isOutOfService(node))) return;
    // Only its finalizers are left.
    if (isPodTerminal(pod) && Number(pod.metadata.deletionGracePeriodSeconds ?? 0) === 0) return;
    await failAndDelete(client, clock, pod);
  }

  /** Deletes the oldest of the pods that have ended, beyond those that are kept. */
  async reconcileEnded(): Promise<void> {
    const { client, clock } = this.#context;
    const ended = this.#pods
      .list()
      .filter((pod) => isPodTerminal(pod) && pod.metadata.deletionTimestamp === undefined);
    const surplus = ended.length - this.#maxTerminated;
    if (surplus <= 0) return;
    for (const pod of ended.sort(byNeed).slice(0, surplus)) await failAndDelete(client, clock, pod);
  }
}

/** Its administrator says that nothing runs there any more. */
function isOutOfService({ spec, status }: Node): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
  return !ready && (spec.taints ?? []).some(({ key }) => key === outOfServiceTaint);
}

/** Evicted pods first, then the oldest. */
function byNeed(a: Pod, b: Pod): number {
  const evicted = ({ status }: Pod): number =>
    status?.phase === "Failed" && status.reason === "Evicted" ? 0 : 1;
  const age = ({ metadata }: Pod): string => `${metadata.creationTimestamp}/${metadata.name}`;
  return evicted(a) - evicted(b) || (age(a) < age(b) ? -1 : 1);
}
