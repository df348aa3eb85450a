import { Lease } from "@dray/api/coordination/v1";
import { Node, Pod } from "@dray/api/core/v1";
import type { Informer, WorkQueue } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { isEvicted, readyCondition } from "./conditions.ts";
import { NodeHeartbeats, nodeOfLease } from "./heartbeats.ts";
import { NodeWrites } from "./writes.ts";
import { Zones } from "./zones.ts";

/** Milliseconds without a sign of life after which a node counts as lost: upstream's since 1.32. */
const gracePeriod = 50_000;
/** For a node that has never given one. */
const startupGracePeriod = 60_000;
/** Milliseconds between two counts of all nodes. */
const countInterval = 1_000;

/**
 * Marks nodes whose kubelet has fallen silent as Unknown, taints nodes by their conditions, and takes Ready
 * from the pods of nodes that are not.
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
  const queue = queues.queue("node_lifecycle_controller", (name) => lifecycle.reconcile(name));
  const lifecycle = new NodeLifecycle(context, { nodes, heartbeats, writes, queue });
  nodes.handle({
    add(node) {
      writes.report(node, "RegisteredNode", `Registered Node ${node.metadata.name} in Controller`);
      lifecycle.changed(node);
    },
    update: (node) => lifecycle.changed(node),
    delete(node) {
      writes.report(node, "RemovingNode", `Removing Node ${node.metadata.name} from Controller`);
      lifecycle.gone(node);
    },
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

interface Parts {
  readonly nodes: Informer<Node>;
  readonly heartbeats: NodeHeartbeats;
  readonly writes: NodeWrites;
  readonly queue: WorkQueue;
}

class NodeLifecycle {
  readonly #context: ControllerContext;
  readonly #parts: Parts;
  readonly #zones = new Zones();
  /** Whether no node at all is ready, as far as this controller has acted on it. */
  #allDown = false;
  /** Milliseconds since the epoch at which all nodes were last counted. */
  #counted = 0;

  constructor(context: ControllerContext, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
  }

  changed(node: Node): void {
    this.#zones.set(node, this.#isReady(node));
    this.#parts.queue.add(node.metadata.name);
    this.#followDisruption();
  }

  gone(node: Node): void {
    this.#zones.delete(node);
    this.#parts.heartbeats.forget(node);
    this.#followDisruption();
  }

  async reconcile(name: string): Promise<void> {
    const { nodes, writes, queue } = this.#parts;
    let node = nodes.get({ name });
    if (node === undefined) return;
    const left = this.#timeLeft(node);
    if (left > 0) queue.addAfter(name, left);
    else {
      this.#countAll();
      node = await writes.markUnknown(node);
    }
    const ready = readyCondition(node)?.status;
    const isLost = ready === "False" || ready === "Unknown";
    const wait = isLost ? this.#untilEviction(node) : 0;
    await writes.setTaints(node, wait === 0);
    if (isLost) await writes.markPodsNotReady(node);
    if (Number.isFinite(wait) && wait > 0) queue.addAfter(name, wait);
  }

  /** Milliseconds until the node counts as lost. */
  #timeLeft(node: Node): number {
    const grace = readyCondition(node) === undefined ? startupGracePeriod : gracePeriod;
    return grace - this.#parts.heartbeats.silence(node);
  }

  #isReady(node: Node): boolean {
    return readyCondition(node)?.status === "True" && this.#timeLeft(node) > 0;
  }

  /** Nodes that were lost together are seen together, before the first of them is given up. */
  #countAll(): void {
    const now = this.#context.clock.now();
    if (now < this.#counted + countInterval) return;
    this.#counted = now;
    for (const node of this.#parts.nodes.list()) this.#zones.set(node, this.#isReady(node));
    this.#followDisruption();
  }

  /**
   * 0 if the pods of the node are evicted; else milliseconds until the next check, infinite if an event will
   * trigger it.
   */
  #untilEviction(node: Node): number {
    if (this.#zones.allDown) return Number.POSITIVE_INFINITY;
    if (isEvicted(node)) return 0;
    return this.#zones.reserveEviction(node, this.#context.clock.now());
  }

  /** Cancels evictions when no node is ready, and resumes them when one is ready again. */
  #followDisruption(): void {
    const { nodes, heartbeats, queue } = this.#parts;
    const { allDown } = this.#zones;
    if (allDown === this.#allDown) return;
    this.#allDown = allDown;
    if (!allDown) heartbeats.restart();
    for (const node of nodes.list())
      if (readyCondition(node)?.status !== "True") queue.add(node.metadata.name);
  }
}
