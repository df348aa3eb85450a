/** Kubelets and drivers, which give a bound pod its status and events as upstream's kubelet does. */

import type { KubeObject } from "@dray/api";
import type { Event, Node, Pod } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import type { Facts } from "./draft.ts";

/** The cluster, as far as kubelets use it. */
export interface KubeletCluster {
  readonly facts: Facts;
  readonly events: readonly Event[];
  now: number;
  find<T extends KubeObject>(kind: string, name: string): T | undefined;
  set(object: KubeObject): void;
  record(pod: Pod, type: string, reason: string, message: string): void;
  claimsOf(pod: Pod): ResourceClaim[];
}

const waiting = (pod: Pod, reason: string, message = ""): object[] =>
  pod.spec.containers.map(({ name }) => ({ name, state: { waiting: { reason, message } } }));

/** Starts the pod, as far as the facts let it come. */
export function startPod(cluster: KubeletCluster, pod: Pod): void {
  const node = pod.spec.nodeName ?? "";
  if (pod.status?.phase === "Running") return;
  if (cluster.facts.notReady.has(node)) {
    setReady(cluster, node);
    return;
  }
  const stage = withoutSandbox(cluster, pod, node) ?? withSandbox(cluster, pod);
  const sandbox = {
    type: "PodReadyToStartContainers",
    status: stage?.hasSandbox === false ? "False" : "True",
  };
  const startTime = pod.status?.startTime ?? new Date(cluster.now).toISOString();
  const running = pod.spec.containers.map(({ name }) => ({ name, state: { running: {} } }));
  const conditions = [{ type: "PodScheduled", status: "True" }, sandbox];
  const phase = stage === undefined ? "Running" : "Pending";
  const containerStatuses = stage?.containers ?? running;
  cluster.set({ ...pod, status: { ...pod.status, phase, startTime, conditions, containerStatuses } } as Pod);
}

/** The step at which a pod is stuck. */
interface Stage {
  readonly hasSandbox: boolean;
  readonly containers: object[];
}

function withoutSandbox(cluster: KubeletCluster, pod: Pod, node: string): Stage | undefined {
  const { facts } = cluster;
  const stuck = { hasSandbox: false, containers: waiting(pod, "ContainerCreating") };
  const fail = (reason: string, message: string): Stage => {
    cluster.record(pod, "Warning", reason, message);
    return stuck;
  };
  const failPrepare = (message: string): Stage =>
    fail("FailedPrepareDynamicResources", `Failed to prepare dynamic resources: ${message}`);
  for (const { name } of pod.spec.volumes ?? [])
    if (facts.unmountable.has(name))
      return fail(
        "FailedMount",
        `MountVolume.SetUp failed for volume "${name}": configmap "${name}" not found`,
      );
  const drivers = cluster
    .claimsOf(pod)
    .flatMap(({ status }) => (status?.allocation?.devices?.results ?? []).map(({ driver }) => driver));
  for (const driver of drivers) {
    if (facts.unregistered.has(`${node}/${driver}`))
      return failPrepare(`DRA driver ${driver} is not registered`);
    const error = facts.prepareErrors.get(driver);
    if (error !== undefined) return failPrepare(`${driver}: ${error}`);
    if (facts.hanging.has(driver)) return stuck;
    const past = facts.pastPrepareErrors.get(driver);
    if (past !== undefined && !cluster.events.some(({ message }) => message?.includes(past) === true))
      failPrepare(`${driver}: ${past}`);
  }
  return undefined;
}

function withSandbox(cluster: KubeletCluster, pod: Pod): Stage | undefined {
  const { facts } = cluster;
  cluster.now += 1;
  for (const { name, image = "" } of pod.spec.containers) {
    if (facts.missingImages.has(image)) {
      cluster.record(pod, "Warning", "Failed", `Failed to pull image "${image}": not found`);
      const message = `Back-off pulling image "${image}"`;
      return { hasSandbox: true, containers: waiting(pod, "ImagePullBackOff", message) };
    }
    if (facts.missingConfig.has(name)) {
      const message = 'configmap "settings" not found';
      return { hasSandbox: true, containers: waiting(pod, "CreateContainerConfigError", message) };
    }
  }
  return undefined;
}

/** Reports that a node is not ready. */
function setReady(cluster: KubeletCluster, name: string): void {
  const node = cluster.find<Node>("Node", name);
  if (node === undefined) return;
  const condition = {
    type: "Ready",
    status: "Unknown",
    reason: "NodeStatusUnknown",
    message: "Kubelet stopped posting node status.",
  };
  cluster.set({ ...node, status: { ...node.status, conditions: [condition] } } as Node);
}
