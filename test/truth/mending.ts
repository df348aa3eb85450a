/** Removes a cause that `dray explain` names, and nothing else. */
import type { KubeObject } from "@dray/api";
import type { PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import type { Wait } from "../../packages/dray/src/explain/data.ts";
import { bindVolume, isWaiting, type SimulatedCluster } from "./cluster.ts";
import { claim, claimSpec, deviceClass, type Manifest, type Stored, template } from "./draft.ts";

/** Returns false for a cause that only a change of the placement removes. */
export function mend(
  cluster: SimulatedCluster,
  { for: what, object, message }: Wait,
  subject: string,
): boolean {
  // Events of what has been removed grow old.
  cluster.now += 10 * 60_000;
  const [kind = "", name = ""] = object?.split(" ") ?? [];
  const short = name.slice(name.indexOf("/") + 1);
  const { facts } = cluster;
  const drivers = [...message.matchAll(/[a-z]+\.example\.com/g)].map(([driver]) => driver);
  switch (what) {
    case "claim-missing":
      cluster.set(
        stored(kind === "ResourceClaim" ? claim(short, claimSpec({})) : template(short, claimSpec({}))),
      );
      return true;
    case "class-missing":
      cluster.set(stored(deviceClass(short, 'device.driver == "gpu.example.com"')));
      return true;
    case "claim-unusable": {
      if (message.includes("put on its node") || message.includes("put the pod on its node"))
        return makeAgain(cluster, subject);
      const found = cluster.find<ResourceClaim>("ResourceClaim", name)!;
      const { deletionTimestamp: _, finalizers: __, ...metadata } = found.metadata;
      cluster.set({
        ...found,
        metadata: { ...metadata, uid: `${metadata.uid}-2` },
        status: {},
      } as ResourceClaim);
      return true;
    }
    case "scheduling-gate":
      editPod(cluster, subject, (spec) => delete spec.schedulingGates);
      return true;
    case "quota":
      for (const quota of cluster.all("ResourceQuota")) cluster.delete(quota);
      return true;
    case "extended-resource":
      return offer(cluster, /no node offers (\S+),/.exec(message)?.[1] ?? "");
    case "pod-group":
      return mendGroup(cluster, short, subject);
    case "binding-conditions":
      cluster.facts.detached.clear();
      return true;
    case "scheduler":
      facts.deadSchedulers.clear();
      return true;
    case "volume":
      return mendVolume(cluster, kind, name, message);
    case "driver-not-registered":
      return drivers.map((driver) => facts.unregistered.delete(`${short}/${driver}`)).includes(true);
    case "prepare":
      return drivers.map((driver) => facts.hanging.delete(driver)).includes(true);
    case "prepare-failing":
      return drivers.map((driver) => facts.prepareErrors.delete(driver)).includes(true);
    case "unprepare-failing":
      return drivers.map((driver) => facts.unprepareErrors.delete(driver)).includes(true);
    case "termination":
      facts.stubborn.clear();
      return true;
    case "finalizers":
      return release(cluster, subject);
    case "preemption":
      return message.includes("is not ready")
        ? mendNode(cluster, short)
        : message.includes("finalizer example.com/keep") && release(cluster, "victim");
    case "failure":
      return mendFailure(cluster, message, subject);
    case "containers":
      if (message.includes("CrashLoopBackOff")) return mendContainer(cluster, message);
      if (message.includes("ImagePullBackOff")) facts.missingImages.clear();
      if (message.includes("CreateContainerConfigError")) facts.missingConfig.clear();
      return true;
    case "node":
      return mendNode(cluster, short);
    default:
      return false;
  }
}

/** Removes the finalizers of a pod. */
function release(cluster: SimulatedCluster, name: string): boolean {
  const pod = cluster.find<Pod>("Pod", `default/${name}`)!;
  const { finalizers: _, ...metadata } = pod.metadata;
  cluster.set({ ...pod, metadata } as Pod);
  return true;
}

/** The container's program is mended, if the message says how it ends. */
function mendContainer({ facts }: SimulatedCluster, message: string): boolean {
  const [, name = ""] = /container (\S+?):? /.exec(message) ?? [];
  const failure = facts.failing.get(name);
  if (failure === undefined) return false;
  if (!message.includes(`exit code ${failure.exitCode}`) || !message.includes(failure.reason)) return false;
  return facts.failing.delete(name);
}

/** Removes the cause of a failure; owners make all pods again that have failed. */
function mendFailure(cluster: SimulatedCluster, message: string, subject: string): boolean {
  if (message.includes("DeadlineExceeded"))
    editPod(cluster, subject, (spec) => delete spec.activeDeadlineSeconds);
  else if (message.includes("low on resource: memory")) cluster.facts.evicted.clear();
  else if (!mendContainer(cluster, message)) return false;
  for (const { metadata, status } of cluster.all<Pod>("Pod"))
    if (status?.phase === "Failed") makeAgain(cluster, metadata.name);
  return true;
}

/** Its owner creates the pod again, for the scheduler. */
function makeAgain(cluster: SimulatedCluster, subject: string): boolean {
  const { status: _, ...pod } = cluster.find<Pod>("Pod", `default/${subject}`)!;
  const { nodeName: __, ...spec } = pod.spec;
  const uid = `${pod.metadata.uid}-again`;
  cluster.set({ ...pod, metadata: { ...pod.metadata, uid }, spec } as Pod);
  for (const event of cluster.events.splice(0))
    if (event.involvedObject.name !== subject) cluster.events.push(event);
  return true;
}

function stored(object: Manifest): KubeObject {
  object.metadata.uid = `uid-${object.kind}-${object.metadata.name}`;
  object.metadata.resourceVersion = "1";
  return object as unknown as KubeObject; // with the fields that are read
}

function editPod(cluster: SimulatedCluster, subject: string, edit: (spec: Manifest) => void): void {
  const copy = structuredClone(cluster.find<Pod>("Pod", `default/${subject}`)!);
  edit(copy.spec as Manifest);
  cluster.set(copy);
}

/** Makes a class stand for the resource. */
function offer(cluster: SimulatedCluster, extendedResourceName: string): boolean {
  const name = `offers-${extendedResourceName.replace(/\W/g, "-")}`;
  cluster.set(stored(deviceClass(name, 'device.driver == "gpu.example.com"', { extendedResourceName })));
  return true;
}

/** Creates the group, or asks for as many pods as there are, or opens the gates of its other pods. */
function mendGroup(cluster: SimulatedCluster, name: string, subject: string): boolean {
  const members = cluster
    .all<Pod>("Pod")
    .filter(({ spec }) => spec.schedulingGroup?.podGroupName === (name || undefined));
  const found = cluster.find<Stored>("PodGroup", `default/${name}`);
  if (name === "") {
    const own = cluster.find<Pod>("Pod", `default/${subject}`)!;
    const group = own.spec.schedulingGroup?.podGroupName;
    for (const pod of cluster.all<Pod>("Pod")) {
      const isOther = pod.metadata.name !== subject && pod.spec.schedulingGroup?.podGroupName === group;
      if (!isOther || !isWaiting(pod)) continue;
      editPod(cluster, pod.metadata.name, (spec) => delete spec.schedulingGates);
    }
    return true;
  }
  const schedulingPolicy = { gang: { minCount: Math.max(1, members.length) } };
  const { priority = 0 } = cluster.find<Pod>("Pod", `default/${subject}`)!.spec;
  cluster.set(
    found === undefined
      ? stored({
          apiVersion: "scheduling.k8s.io/v1beta1",
          kind: "PodGroup",
          metadata: { name, namespace: "default" },
          spec: { schedulingPolicy, priority },
        })
      : ({ ...found, spec: { ...found.spec, schedulingPolicy } } as KubeObject),
  );
  return true;
}

function mendVolume(cluster: SimulatedCluster, kind: string, name: string, message: string): boolean {
  if (kind !== "PersistentVolumeClaim") {
    const volume = /for volume "([^"]+)"/.exec(message)?.[1] ?? "";
    return cluster.facts.unmountable.delete(volume);
  }
  const found = cluster.find<PersistentVolumeClaim>("PersistentVolumeClaim", name);
  const made = stored({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: name.slice(name.indexOf("/") + 1), namespace: "default" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  bindVolume(cluster, found ?? (made as PersistentVolumeClaim));
  return true;
}

function mendNode(cluster: SimulatedCluster, name: string): boolean {
  const node = cluster.find<Stored>("Node", name);
  if (node === undefined || !cluster.facts.notReady.delete(name)) return false;
  const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady" }];
  cluster.set({ ...node, status: { ...node.status, conditions } } as KubeObject);
  return true;
}
