import type { Event, Pod } from "@dray/api/core/v1";
import { createdPodClaims } from "@dray/api/pod";
import { isDone } from "@dray/controllers/objects";
import { resultsOf } from "../inventory/devices.ts";
import { hasSandbox } from "../inventory/sandbox.ts";
import type { World } from "../manifests/world.ts";
import { names } from "../text/words.ts";
import { isDriverPod } from "./driver-pods.ts";
import { type Finding, finding, kubectl, type Snapshot } from "./finding.ts";
import { notRegistered } from "./slices.ts";
import { countOf, isLongAgo, isRecent, lastTime } from "./times.ts";

/** Finds claims that kubelets fail to prepare or to unprepare. */
export function checkPreparing(snapshot: Snapshot): Finding[] {
  const { world, now } = snapshot;
  const recent = world
    .all("Event")
    .map(({ object }) => object)
    .filter((event) => isRecent(lastTime(event), now));
  const of = (reason: string): Event[] => latest(recent.filter((event) => event.reason === reason));
  return [
    ...of("FailedPrepareDynamicResources").flatMap((event) => prepareFailing(event, snapshot)),
    ...of("FailedUnprepareDynamicResources").flatMap((event) => unprepareFailing(event, snapshot)),
  ];
}

/** Returns the newest event of each object. */
function latest(events: readonly Event[]): Event[] {
  const found = new Map<string | undefined, Event>();
  for (const event of events.toSorted((a, b) => (lastTime(a) < lastTime(b) ? -1 : 1)))
    found.set(event.involvedObject.uid, event);
  return [...found.values()];
}

/** Returns the pod of an event, if it is still the same. */
function podOf({ involvedObject }: Event, world: World): Pod | undefined {
  const { kind, namespace, name, uid } = involvedObject;
  const pod = kind === "Pod" ? world.find("Pod", `${namespace}/${name}`) : undefined;
  return pod?.metadata.uid === uid ? pod : undefined;
}

function prepareFailing(event: Event, { world, now }: Snapshot): Finding[] {
  const pod = podOf(event, world);
  // A failure before a success does not count.
  if (pod === undefined || isDone(pod) || hasSandbox(pod)) return [];
  const isRepeated = countOf(event) > 1 || isLongAgo(pod.status?.startTime ?? "", now);
  if (!isRepeated || pod.metadata.deletionTimestamp !== undefined) return [];
  const { nodeName = "" } = pod.spec;
  const driver = notRegistered.exec(event.message ?? "")?.[1];
  // A node that publishes devices of a driver that is not registered is a finding of its own.
  if (driver !== undefined && world.slicesOf(nodeName).some(({ object }) => object.spec.driver === driver))
    return [];
  const evidence = [eventText(event), ...driverText(pod, world), `it is on node ${nodeName}`];
  const message = `waits for its claims, which the kubelet of node ${nodeName} fails to prepare`;
  const fix = [...driverLogs(nodeName, world), kubectl("describe", pod)];
  return [finding("prepare-failing", pod, message, { evidence, fix })];
}

function unprepareFailing(event: Event, { world }: Snapshot): Finding[] {
  const pod = podOf(event, world);
  const { kind, name = "" } = event.involvedObject;
  const evidence = [eventText(event), ...(pod === undefined ? [] : driverText(pod, world))];
  if (pod !== undefined) {
    if (pod.metadata.deletionTimestamp === undefined && !isDone(pod)) return [];
    const { nodeName = "" } = pod.spec;
    const fix = [...driverLogs(nodeName, world), kubectl("describe", pod)];
    const message = `has ended, and the kubelet of node ${nodeName} fails to unprepare its claims`;
    return [finding("unprepare-failing", pod, message, { evidence, fix })];
  }
  // Kubelets report about pods that are gone on their node.
  const node = kind === "Node" ? world.find("Node", name) : undefined;
  if (node === undefined) return [];
  const fix = [...driverLogs(name, world), kubectl("describe", node)];
  const message = "still has prepared claims of a pod that is gone";
  return [finding("unprepare-failing", node, message, { evidence, fix })];
}

function eventText(event: Event): string {
  const count = countOf(event);
  const times = count > 1 ? `${count} times, the last at ${lastTime(event)}` : `at ${lastTime(event)}`;
  return `the kubelet says, ${times}: ${event.message}`;
}

/** Names the drivers of the pod's devices. */
function driverText(pod: Pod, world: World): string[] {
  const drivers = createdPodClaims(pod).flatMap(({ name }) => {
    const claim = world.find("ResourceClaim", `${pod.metadata.namespace}/${name}`);
    return claim === undefined ? [] : resultsOf(claim).map(({ driver }) => driver);
  });
  return drivers.length === 0 ? [] : [`its devices are of driver ${names([...new Set(drivers)])}`];
}

/** Returns the commands that show what the drivers of a node say. */
function driverLogs(node: string, world: World): string[] {
  const pods = world
    .all("Pod")
    .map(({ object }) => object)
    .filter((pod) => pod.spec.nodeName === node && isDriverPod(pod) && !isDone(pod));
  if (pods.length === 0) return [`kubectl get pods -A --field-selector=spec.nodeName=${node} -o wide`];
  return pods.map(
    ({ metadata }) => `kubectl logs ${metadata.name} -n ${metadata.namespace} --all-containers --tail=50`,
  );
}
