import { isDeepStrictEqual } from "node:util";
import { Lease } from "@dray/api/coordination/v1";
import { Node, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { type EventRecorder, type Informer, timeText } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { refTo, writeStatus } from "../status.ts";
import { changedTaints, readyCondition, unknownConditions } from "./node-conditions.ts";
import { NodeHeartbeats, nodeOfLease } from "./node-heartbeats.ts";

/** Milliseconds without a sign of life after which a node counts as lost: upstream's since 1.32. */
const gracePeriod = 50_000;
/** For a node that has never given one. */
const startupGracePeriod = 60_000;

/**
 * Marks nodes whose kubelet has fallen silent as Unknown, taints nodes by their conditions, and takes Ready from the
 * pods of nodes that are not.
 *
 * Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go.
 */
export async function startNodeLifecycleController(context: ControllerContext): Promise<Controller> {
  const { clock, informers } = context;
  const nodes = informers.of(Node);
  const leases = informers.of(Lease);
  const pods = informers.of(Pod);
  await synced(context, [nodes, leases, pods]);

  const heartbeats = new NodeHeartbeats(clock, leases);
  const writes = new NodeWrites(context, pods);
  const queues = controllerQueues(context);
  const queue = queues.queue("node-lifecycle", async (name) => {
    let node = nodes.get({ name });
    if (node === undefined) return;
    const grace = readyCondition(node) === undefined ? startupGracePeriod : gracePeriod;
    const silence = heartbeats.silence(node);
    if (silence >= grace) node = await writes.markUnknown(node);
    else queue.addAfter(name, grace - silence);
    await writes.setTaints(node);
    const ready = readyCondition(node)?.status;
    if (ready === "False" || ready === "Unknown") await writes.markPodsNotReady(node);
  });
  nodes.handle({
    add: (node) => queue.add(node.metadata.name),
    update: (node) => queue.add(node.metadata.name),
    delete: (node) => heartbeats.forget(node),
  });
  // A renewal only moves the time of the next look: a node that was given up posts its status, too.
  const renewed = (lease: Lease): void => {
    const name = nodeOfLease(lease);
    const node = name === undefined ? undefined : nodes.get({ name });
    if (node !== undefined) heartbeats.hear(node);
  };
  leases.handle({ add: renewed, update: renewed });
  return queues.controller;
}

/** Writes what follows from the silence and the conditions of nodes. */
class NodeWrites {
  readonly #context: ControllerContext;
  readonly #pods: Informer<Pod>;
  readonly #recorder: EventRecorder;

  constructor(context: ControllerContext, pods: Informer<Pod>) {
    this.#context = context;
    this.#pods = pods;
    this.#recorder = recorderOf(context, "node-controller");
  }

  get #now(): string {
    return timeText(this.#context.clock.now());
  }

  async markUnknown(node: Node): Promise<Node> {
    const { name, uid } = node.metadata;
    const conditions = unknownConditions(node, this.#now);
    if (isDeepStrictEqual(conditions, node.status?.conditions ?? [])) return node;
    const about = { ...node, metadata: { name, uid } };
    this.#recorder.event(about, "Normal", "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
    return writeStatus(this.#context.client, Node, node, { ...node.status, conditions });
  }

  async setTaints(node: Node): Promise<void> {
    const taints = changedTaints(node, this.#now);
    if (taints === undefined) return;
    const { uid, resourceVersion } = node.metadata;
    await this.#context.client
      .resource(Node)
      .patch(refTo(node), "merge", { metadata: { uid, resourceVersion }, spec: { taints } });
  }

  /** Nobody on the node can say any more whether they serve. */
  async markPodsNotReady({ metadata: { name } }: Node): Promise<void> {
    for (const pod of this.#pods.byIndex("node", name)) {
      const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
      if (ready?.status !== "True" || isPodTerminal(pod)) continue;
      this.#recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready");
      const { uid, resourceVersion } = pod.metadata;
      const condition = { type: "Ready", status: "False", lastTransitionTime: this.#now };
      const patch = { metadata: { uid, resourceVersion }, status: { conditions: [condition] } };
      await this.#context.client
        .resource(Pod)
        .patch(refTo(pod), "strategic", patch, { subresource: "status" });
    }
  }
}
