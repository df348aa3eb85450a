/** Kubelets and drivers, which give a bound pod its status and events as upstream's kubelet does. */

import type { KubeObject } from "@dray/api";
import type { Event, Node, Pod, PodStatus } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import type { Facts } from "./draft.ts";

/** The cluster, as far as kubelets use it. */
export interface KubeletCluster {
  readonly facts: Facts;
  readonly events: readonly Event[];
  now: number;
  delete(object: KubeObject): void;
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
  if (pod.status?.phase === "Running") {
    if (!pod.status.containerStatuses?.some(({ state }) => state?.waiting !== undefined)) return;
  }
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
  const end = stage === undefined ? endOf(cluster, pod) : {};
  cluster.set({
    ...pod,
    status: { ...pod.status, phase, startTime, conditions, containerStatuses, ...end },
  } as Pod);
}

/** Returns the report of a kubelet on a pod that has ended, or whose containers end again and again. */
function endOf({ facts }: KubeletCluster, { metadata, spec, status }: Pod): Partial<PodStatus> {
  if (spec.activeDeadlineSeconds !== undefined)
    return {
      phase: "Failed",
      reason: "DeadlineExceeded",
      message: "Pod was active on the node longer than the specified deadline",
    };
  if (facts.evicted.has(metadata.name)) {
    const message = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi.";
    const disrupted = { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message };
    return {
      phase: "Failed",
      reason: "Evicted",
      message,
      conditions: [...(status?.conditions ?? []), disrupted],
    } as Partial<PodStatus>; // the fields that are read
  }
  if (!spec.containers.some(({ name }) => facts.failing.has(name))) return {};
  const isOnce = spec.restartPolicy === "Never";
  const containerStatuses = spec.containers.map(({ name }) => {
    const terminated = facts.failing.get(name);
    if (terminated === undefined) return { name, state: { running: {} } };
    if (isOnce) return { name, state: { terminated } };
    const message = `back-off 10s restarting failed container=${name}`;
    const state = { waiting: { reason: "CrashLoopBackOff", message } };
    return { name, state, lastState: { terminated }, restartCount: 1 };
  });
  return { phase: isOnce ? "Failed" : "Running", containerStatuses } as Partial<PodStatus>; // ditto
}

/**
 * Ends a pod that is being deleted, as far as the facts let it: containers, then claims, then its status.
 * Upstream: kubelet.go, SyncTerminatingPod.
 */
export function endPod(cluster: KubeletCluster, pod: Pod): void {
  const { facts } = cluster;
  const { nodeName = "", containers } = pod.spec;
  if (facts.notReady.has(nodeName)) {
    setReady(cluster, nodeName);
    return;
  }
  if (nodeName !== "" && containers.some(({ name }) => facts.stubborn.has(name)) && hasRun(pod)) return;
  const drivers = cluster
    .claimsOf(pod)
    .flatMap(({ status }) => (status?.allocation?.devices?.results ?? []).map(({ driver }) => driver));
  const failed = drivers.find((driver) => facts.unprepareErrors.has(driver));
  const containerStatuses = containers.map(({ name }) => ({
    name,
    state: { terminated: { exitCode: 0, reason: "Completed" } },
  }));
  if (nodeName !== "" && failed !== undefined) {
    const message = `Failed to unprepare dynamic resources: ${failed}: ${facts.unprepareErrors.get(failed)}`;
    const { name } = pod.metadata;
    if (!cluster.events.some((event) => event.message === message && event.involvedObject.name === name))
      cluster.record(pod, "Warning", "FailedUnprepareDynamicResources", message);
    cluster.set({ ...pod, status: { ...pod.status, containerStatuses } } as Pod);
    return;
  }
  if ((pod.metadata.finalizers ?? []).length === 0) {
    cluster.delete(pod);
    return;
  }
  const phase = nodeName === "" ? pod.status?.phase : "Succeeded";
  cluster.set({ ...pod, status: { ...pod.status, phase, containerStatuses } } as Pod);
}

const hasRun = ({ status }: Pod): boolean =>
  status?.containerStatuses?.some(({ state }) => state?.running !== undefined) === true;

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
  // Upstream: cm/dra/manager.go, prepareResources.
  for (const { metadata, status } of cluster.claimsOf(pod))
    if (status?.allocation === undefined || !status.reservedFor?.some(({ uid }) => uid === pod.metadata.uid))
      return failPrepare(`pod is not allowed to use ResourceClaim ${metadata.name}`);
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
