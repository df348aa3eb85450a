import { isDeepStrictEqual } from "node:util";
import { Node, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { type EventRecorder, type Informer, timeText } from "@dray/client";
import { type ControllerContext, recorderOf } from "../shared/context.ts";
import { refTo, writeStatus } from "../shared/status.ts";
import { changedTaints, unknownConditions } from "./conditions.ts";

/** Writes what follows from the silence and the conditions of nodes. */
export class NodeWrites {
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

  /** Upstream: pkg/controller/util/node/controller_utils.go, RecordNodeEvent. */
  report(node: Node, reason: string, event: string): void {
    this.#event(node, reason, `Node ${node.metadata.name} event: ${event}`);
  }

  #event(node: Node, reason: string, message: string): void {
    const { name, uid } = node.metadata;
    this.#recorder.event({ ...node, metadata: { name, uid } }, "Normal", reason, message);
  }

  async markUnknown(node: Node): Promise<Node> {
    const conditions = unknownConditions(node, this.#now);
    if (isDeepStrictEqual(conditions, node.status?.conditions ?? [])) return node;
    this.#event(node, "NodeNotReady", `Node ${node.metadata.name} status is now: NodeNotReady`);
    return writeStatus(this.#context.client, Node, node, { ...node.status, conditions });
  }

  async setTaints(node: Node, evicts: boolean): Promise<void> {
    const taints = changedTaints(node, this.#now, evicts);
    if (taints === undefined) return;
    const { uid, resourceVersion } = node.metadata;
    await this.#context.client
      .resource(Node)
      .patch(refTo(node), "merge", { metadata: { uid, resourceVersion }, spec: { taints } });
  }

  /** The kubelet can no longer report whether they serve. */
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
