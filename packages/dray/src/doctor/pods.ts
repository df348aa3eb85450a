import { matchesNodeSelector } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import { createdPodClaims, podClaims } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { isDone, isReservedForPod } from "@dray/controllers/objects";
import { resultsOf } from "../inventory/devices.ts";
import type { World } from "../manifests/world.ts";
import { counted } from "../text/words.ts";
import { type Finding, finding, kubectl, type Snapshot } from "./finding.ts";
import { isLongAgo } from "./times.ts";

export function checkPods({ world, now }: Snapshot): Finding[] {
  return world
    .all("Pod")
    .flatMap(({ object: pod }) => [...withoutDevices(pod, world), ...stuck(pod, world, now)]);
}

/** Returns why a claim does not give a bound pod its devices; undefined: it does (KEP-4381). */
export function claimProblem(
  pod: Pod,
  name: string,
  claim: ResourceClaim | undefined,
  node: Node | undefined,
): string | undefined {
  if (claim === undefined) return `there is no ResourceClaim ${name}`;
  const { allocation } = claim.status ?? {};
  if (allocation === undefined) return `ResourceClaim ${name} has no devices`;
  if (!isReservedForPod(pod, claim, true)) return `ResourceClaim ${name} is not reserved for the pod`;
  if (node === undefined || allocation.nodeSelector === undefined) return undefined;
  if (matchesNodeSelector(allocation.nodeSelector, node)) return undefined;
  return `the devices of ResourceClaim ${name} are for other nodes than ${node.metadata.name}`;
}

/** Returns the claims of a bound pod that give it no devices, with the reason. */
function lacksDevices(pod: Pod, world: World): string[] {
  const { nodeName } = pod.spec;
  if (!nodeName || isDone(pod) || pod.metadata.deletionTimestamp !== undefined) return [];
  const node = world.find("Node", nodeName);
  return podClaims(pod).flatMap(({ entry, name }) => {
    if (name === null) return [];
    if (name === undefined) return `no ResourceClaim was made for spec.resourceClaims "${entry?.name}"`;
    const claim = world.find("ResourceClaim", `${pod.metadata.namespace}/${name}`);
    return claimProblem(pod, name, claim, node) ?? [];
  });
}

function withoutDevices(pod: Pod, world: World): Finding[] {
  const lacking = lacksDevices(pod, world);
  if (lacking.length === 0) return [];
  const { nodeName = "", schedulerName } = pod.spec;
  const phase = pod.status?.phase ?? "Pending";
  const evidence = [
    ...lacking,
    `spec.nodeName: ${nodeName}, spec.schedulerName: ${schedulerName ?? "default-scheduler"}, status.phase: ${phase}`,
    "who binds a pod allocates and reserves its claims before; a pod that is made with spec.nodeName has had no scheduler",
  ];
  const does = phase === "Running" ? "runs" : "is bound";
  const fix = [kubectl("delete", pod)];
  return [
    finding("pod-without-devices", pod, `${does} on node ${nodeName} without its devices`, { evidence, fix }),
  ];
}

function stuck(pod: Pod, world: World, now: number): Finding[] {
  const { deletionTimestamp, finalizers = [] } = pod.metadata;
  // It includes the grace period.
  if (deletionTimestamp === undefined || !isLongAgo(deletionTimestamp, now)) return [];
  const { nodeName = "" } = pod.spec;
  const node = world.find("Node", nodeName);
  const ready = node?.status?.conditions?.find(({ type }) => type === "Ready");
  const isLost = node === undefined || ready?.status !== "True";
  const held = createdPodClaims(pod)
    .flatMap(({ name }) => world.find("ResourceClaim", `${pod.metadata.namespace}/${name}`) ?? [])
    .filter((claim) => claim.status?.reservedFor?.some(({ uid }) => uid === pod.metadata.uid));
  const devices = held.reduce((sum, claim) => sum + resultsOf(claim).length, 0);
  const evidence = [
    `metadata.deletionTimestamp: ${deletionTimestamp}`,
    ...(finalizers.length > 0 ? [`metadata.finalizers: ${finalizers.join(", ")}`] : []),
    nodeName === ""
      ? "it is on no node"
      : node === undefined
        ? `node ${nodeName} does not exist`
        : `node ${nodeName} is ${isLost ? `not ready: ${ready?.reason ?? "no condition Ready"}` : "ready"}`,
    ...(isLost && node !== undefined
      ? ["its containers may run on: the taint out-of-service is for machines that are known to be off"]
      : []),
    ...(held.length > 0
      ? [`it holds ${counted(devices, "device")} by ${counted(held.length, "claim")}`]
      : []),
  ];
  return [
    finding("pod-stuck-terminating", pod, "is still there after its grace period", {
      evidence,
      fix: fixForStuckPod(pod, nodeName !== "" && isLost, node !== undefined),
    }),
  ];
}

function fixForStuckPod(pod: Pod, isLost: boolean, hasNode: boolean): string[] {
  if ((pod.metadata.finalizers ?? []).length > 0)
    return [
      kubectl("get", pod, "-o", "jsonpath={.metadata.finalizers} {.metadata.managedFields[*].manager}"),
    ];
  // Its containers may still run: its devices must stay allocated until the machine is known to be off.
  if (isLost && !hasNode) return [kubectl("delete", pod, "--force", "--grace-period=0")];
  if (isLost)
    return [
      `kubectl describe node ${pod.spec.nodeName}`,
      `kubectl taint node ${pod.spec.nodeName} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`,
    ];
  return [kubectl("describe", pod)];
}
