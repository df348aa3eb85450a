import { StatusError } from "@dray/api";
import { Node, Pod } from "@dray/api/core/v1";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../context.ts";
import { evict } from "./evict.ts";

/** Milliseconds for which a node must have been gone before its pods are taken as lost. */
const quarantine = 40_000;

/** Deletes pods that nobody else can: those of nodes that are gone, and deleted ones that never got a node. */
export async function startPodGarbageCollector(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const nodes = informers.of(Node);
  const pods = informers.of(Pod);
  /** Since when a node that pods name has been missing. */
  const missing = new Map<string, number>();
  await synced(context, [nodes, pods]);

  const queues = controllerQueues(context);
  const nodeQueue = queues.queue("pod-gc/nodes", reconcileNode);
  const podQueue = queues.queue("pod-gc/pods", reconcilePod);
  nodes.handle({
    add: (node) => missing.delete(node.metadata.name),
    delete: (node) => nodeQueue.add(node.metadata.name),
  });
  const podChanged = (pod: Pod): void => {
    const { nodeName } = pod.spec;
    if (nodeName) {
      if (nodes.get({ name: nodeName }) === undefined) nodeQueue.add(nodeName);
    } else if (pod.metadata.deletionTimestamp !== undefined) {
      podQueue.add(`${pod.metadata.namespace}/${pod.metadata.name}`);
    }
  };
  pods.handle({ add: podChanged, update: podChanged });

  async function reconcileNode(name: string): Promise<void> {
    if (nodes.get({ name }) !== undefined || pods.byIndex("node", name).length === 0) {
      missing.delete(name);
      return;
    }
    const since = missing.get(name) ?? clock.now();
    missing.set(name, since);
    const wait = since + quarantine - clock.now();
    if (wait > 0) return nodeQueue.addAfter(name, wait);
    try {
      // The cache may be behind: to delete the pods of a living node would be bad.
      await client.resource(Node).get({ name });
      return;
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
    for (const pod of pods.byIndex("node", name)) {
      const message = "PodGC: node no longer exists";
      await evict(client, clock, pod, { reason: "DeletionByPodGC", message, fail: true, force: true });
    }
    missing.delete(name);
  }

  async function reconcilePod(key: string): Promise<void> {
    const slash = key.indexOf("/");
    const ref = { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
    const pod = pods.get(ref);
    if (pod?.metadata.deletionTimestamp === undefined || pod.spec.nodeName) return;
    try {
      await client
        .resource(Pod)
        .delete(ref, { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  return queues.controller;
}
