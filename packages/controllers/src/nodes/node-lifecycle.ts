import { isDeepStrictEqual } from "node:util";
import { Lease } from "@dray/api/coordination/v1";
import { Node, type NodeCondition, Pod, type Taint } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { timeText } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { refTo, writeStatus } from "../status.ts";

const leaseNamespace = "kube-node-lease";
/** Milliseconds without a sign of life after which a node counts as lost: upstream's since 1.32. */
const gracePeriod = 50_000;
/** For a node that has never given one. */
const startupGracePeriod = 60_000;

const kubeletConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** Taints that follow from conditions, by type and status. */
const conditionTaints: readonly { type: string; status: string; key: string; effects: readonly string[] }[] =
  [
    { type: "Ready", status: "False", key: "not-ready", effects: ["NoSchedule", "NoExecute"] },
    { type: "Ready", status: "Unknown", key: "unreachable", effects: ["NoSchedule", "NoExecute"] },
    { type: "MemoryPressure", status: "True", key: "memory-pressure", effects: ["NoSchedule"] },
    { type: "DiskPressure", status: "True", key: "disk-pressure", effects: ["NoSchedule"] },
    { type: "PIDPressure", status: "True", key: "pid-pressure", effects: ["NoSchedule"] },
    { type: "NetworkUnavailable", status: "True", key: "network-unavailable", effects: ["NoSchedule"] },
  ];
const ownKeys: ReadonlySet<string> = new Set(
  [...conditionTaints.map(({ key }) => key), "unschedulable"].map((key) => `node.kubernetes.io/${key}`),
);

/**
 * Marks nodes whose kubelet has fallen silent as Unknown, taints nodes by their conditions, and takes Ready from the
 * pods of nodes that are not.
 */
export async function startNodeLifecycleController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const nodes = informers.of(Node);
  const leases = informers.of(Lease);
  const pods = informers.of(Pod);
  const recorder = recorderOf(context, "node-controller");
  /** When we last heard of each node, by our clock: theirs may be wrong. */
  const heard = new Map<string, { at: number; lease: string | undefined; beat: string | undefined }>();
  await synced(context, [nodes, leases, pods]);

  const queues = controllerQueues(context);
  const queue = queues.queue("node-lifecycle", reconcile);
  nodes.handle({
    add: (node) => queue.add(node.metadata.name),
    update: (node) => queue.add(node.metadata.name),
    delete: (node) => heard.delete(node.metadata.name),
  });
  const renewed = (lease: Lease): void => {
    if (lease.metadata.namespace !== leaseNamespace) return;
    // A renewal matters at once only to a node that was given up; for others it moves the time of the next look.
    const { name } = lease.metadata;
    const node = nodes.get({ name });
    if (node !== undefined) hear(node);
  };
  leases.handle({ add: renewed, update: renewed });

  function hear(node: Node): { at: number } {
    const { name } = node.metadata;
    const lease = leases.get({ namespace: leaseNamespace, name })?.spec.renewTime;
    const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
    // What we wrote ourselves is no sign of life.
    const beat = ready?.status === "Unknown" ? undefined : ready?.lastHeartbeatTime;
    const last = heard.get(name);
    const alive =
      last === undefined ||
      (lease !== undefined && lease !== last.lease) ||
      (beat !== undefined && beat !== last.beat);
    if (!alive) return last;
    const now = { at: clock.now(), lease, beat };
    heard.set(name, now);
    return now;
  }

  async function reconcile(name: string): Promise<void> {
    let node = nodes.get({ name });
    if (node === undefined) return;
    const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
    const silence = clock.now() - hear(node).at;
    const grace = ready === undefined ? startupGracePeriod : gracePeriod;
    if (silence >= grace) node = await markUnknown(node);
    else queue.addAfter(name, grace - silence);
    await setTaints(node);
    const state = node.status?.conditions?.find(({ type }) => type === "Ready")?.status;
    if (state === "False" || state === "Unknown") await markPodsNotReady(node);
  }

  async function markUnknown(node: Node): Promise<Node> {
    const now = timeText(clock.now());
    const old = node.status?.conditions ?? [];
    const missing = kubeletConditions.filter((type) => !old.some((condition) => condition.type === type));
    const conditions: NodeCondition[] = old.map((condition) =>
      !kubeletConditions.includes(condition.type) || condition.status === "Unknown"
        ? condition
        : {
            ...condition,
            status: "Unknown",
            reason: "NodeStatusUnknown",
            message: "Kubelet stopped posting node status.",
            lastTransitionTime: now,
          },
    );
    for (const type of missing) {
      conditions.push({
        type,
        status: "Unknown",
        reason: "NodeStatusNeverUpdated",
        message: "Kubelet never posted node status.",
        lastHeartbeatTime: node.metadata.creationTimestamp,
        lastTransitionTime: now,
      });
    }
    if (isDeepStrictEqual(conditions, old)) return node;
    recorder.event(
      { ...node, metadata: { name: node.metadata.name, uid: node.metadata.uid } },
      "Normal",
      "NodeNotReady",
      `Node ${node.metadata.name} status is now: NodeNotReady`,
    );
    return writeStatus(client, Node, node, { ...node.status, conditions });
  }

  async function setTaints(node: Node): Promise<void> {
    const old = node.spec.taints ?? [];
    const wanted: Taint[] = [];
    const want = (key: string, effect: string): void => {
      const full = `node.kubernetes.io/${key}`;
      const there = old.find((taint) => taint.key === full && taint.effect === effect);
      wanted.push(there ?? { key: full, effect, timeAdded: timeText(clock.now()) });
    };
    for (const { type, status, key, effects } of conditionTaints) {
      const condition = node.status?.conditions?.find((candidate) => candidate.type === type);
      if (condition?.status === status) for (const effect of effects) want(key, effect);
    }
    if (node.spec.unschedulable === true) want("unschedulable", "NoSchedule");
    // A node that has said nothing yet keeps the taint that it registered with.
    const told = node.status?.conditions?.some(({ type }) => type === "Ready") === true;
    const kept = old.filter(
      ({ key }) => !ownKeys.has(key) || (!told && key !== "node.kubernetes.io/unschedulable"),
    );
    const taints = [...kept, ...wanted.filter((taint) => !kept.includes(taint))];
    const same = taints.length === old.length && taints.every((taint) => old.includes(taint));
    if (same) return;
    const { uid, resourceVersion } = node.metadata;
    await client
      .resource(Node)
      .patch(refTo(node), "merge", { metadata: { uid, resourceVersion }, spec: { taints } });
  }

  /** Nobody on the node can say any more whether they serve. */
  async function markPodsNotReady(node: Node): Promise<void> {
    for (const pod of pods.byIndex("node", node.metadata.name)) {
      const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
      if (ready?.status !== "True" || isPodTerminal(pod)) continue;
      recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready");
      const condition = { type: "Ready", status: "False", lastTransitionTime: timeText(clock.now()) };
      await client.resource(Pod).patch(
        refTo(pod),
        "strategic",
        {
          metadata: { uid: pod.metadata.uid, resourceVersion: pod.metadata.resourceVersion },
          status: { conditions: [condition] },
        },
        { subresource: "status" },
      );
    }
  }

  return queues.controller;
}
