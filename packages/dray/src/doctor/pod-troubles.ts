import type { ContainerStatus, Event, Pod } from "@dray/api/core/v1";
import { isDone } from "@dray/controllers/objects";
import { hasSandbox } from "../inventory/sandbox.ts";
import type { World } from "../manifests/world.ts";
import { isReady } from "./driver-pods.ts";
import { kubectl, type Snapshot } from "./finding.ts";
import { isLongAgo, isLongReady, isRecent, lastTime } from "./times.ts";

/** Why a pod is not ready. */
export interface Trouble {
  readonly text: string;
  /** Commands that show more. */
  readonly fix: readonly string[];
}

/** Restarts after which a container counts as failing, however long it was ready in between. */
const minRestarts = 2;

/** Reports whether a pod is not ready for more than a minute, or again and again. */
export function isLongUnready(pod: Pod, now: number): boolean {
  const { metadata } = pod;
  if (metadata.deletionTimestamp !== undefined || isDone(pod) || isReady(pod)) return false;
  if (!isLongAgo(metadata.creationTimestamp, now)) return false;
  const hasCondition = pod.status?.conditions?.some(({ type }) => type === "Ready") === true;
  return (
    !hasCondition ||
    isLongReady(pod, "False", now) ||
    statusesOf(pod).some(({ restartCount }) => Number(restartCount) >= minRestarts)
  );
}

/** Returns the present reason why a pod is not ready. */
export function troubleOf(pod: Pod, snapshot: Snapshot): Trouble {
  return (
    unscheduled(pod) ??
    lostNode(pod, snapshot.world) ??
    failingContainer(pod, snapshot) ??
    reported(pod, snapshot) ?? { text: conditionText(pod), fix: [kubectl("describe", pod)] }
  );
}

/** Names a container in `Snapshot.logs`. */
export const logKey = ({ metadata }: Pod, container: string): string => `${metadata.uid}/${container}`;

/** Returns the container that keeps a pod from being ready, if it has run. */
export function failedContainerOf(pod: Pod): ContainerStatus | undefined {
  const failing = firstFailing(pod);
  const hasRun =
    failing?.state?.running !== undefined ||
    failing?.state?.terminated !== undefined ||
    failing?.lastState?.terminated !== undefined;
  return hasRun ? failing : undefined;
}

function unscheduled(pod: Pod): Trouble | undefined {
  if (pod.spec.nodeName) return undefined;
  const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  const { name, namespace } = pod.metadata;
  const why = scheduled?.message ?? scheduled?.reason ?? "no scheduler has reported about it";
  return { text: `has no node: ${why}`, fix: [`dray explain pod ${name} -n ${namespace}`] };
}

function lostNode({ spec: { nodeName = "" } }: Pod, world: World): Trouble | undefined {
  const conditions = world.find("Node", nodeName)?.status?.conditions;
  const ready = conditions?.find(({ type }) => type === "Ready");
  if (ready === undefined || ready.status === "True") return undefined;
  return {
    text: `node ${nodeName} is not ready: ${ready.reason}`,
    fix: [`kubectl describe node ${nodeName}`],
  };
}

const statusesOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

/** Containers that wait for what comes before them. */
const notBegun: ReadonlySet<string> = new Set(["", "PodInitializing", "ContainerCreating"]);

/** Returns the first container that fails; init containers come first. */
const firstFailing = (pod: Pod): ContainerStatus | undefined =>
  statusesOf(pod).find(
    ({ ready, state }) =>
      !ready &&
      (state?.running !== undefined ||
        state?.terminated !== undefined ||
        !notBegun.has(state?.waiting?.reason ?? "")),
  );

function failingContainer(pod: Pod, snapshot: Snapshot): Trouble | undefined {
  const failing = firstFailing(pod);
  if (failing === undefined) return undefined;
  const { name, state, lastState, restartCount } = failing;
  const ended = state?.terminated ?? lastState?.terminated;
  const log = snapshot.logs?.get(logKey(pod, name));
  const said = log === undefined ? "" : `; its last line: ${log}`;
  const isWaiting = state?.waiting !== undefined;
  const logs = `kubectl logs ${pod.metadata.name} -n ${pod.metadata.namespace} -c ${name} --tail=50`;
  // The image or the configuration of a container that has run before may be wrong now.
  if (isWaiting && (ended === undefined || state.waiting?.reason !== "CrashLoopBackOff")) {
    const { reason = "", message } = state.waiting ?? {};
    return {
      text: `container ${name} waits: ${joined(reason, message)}`,
      fix: [kubectl("describe", pod)],
    };
  }
  if (ended !== undefined && state?.running === undefined) {
    const why = [`exit code ${ended.exitCode}`, joined(ended.reason, ended.message?.trim())];
    const text = `container ${name} has ended with ${why.filter((part) => part).join(", ")}; restarts: ${restartCount}${said}`;
    return { text, fix: [isWaiting ? `${logs} --previous` : logs] };
  }
  const probe = lastEvent(pod, snapshot, probeReasons);
  return {
    text: `container ${name} runs and is not ready${probe === undefined ? "" : `: ${probe.message}`}${said}`,
    fix: [kubectl("describe", pod), logs],
  };
}

const probeReasons: ReadonlySet<string> = new Set(["Unhealthy"]);

/** Reasons of events about pods whose containers are not begun. */
const startReasons: ReadonlySet<string> = new Set([
  "FailedMount",
  "FailedAttachVolume",
  "FailedMapVolume",
  "FailedCreatePodSandBox",
  "FailedPrepareDynamicResources",
  "NetworkNotReady",
]);

function reported(pod: Pod, snapshot: Snapshot): Trouble | undefined {
  const probes = lastEvent(pod, snapshot, probeReasons);
  const event = hasSandbox(pod) ? probes : (lastEvent(pod, snapshot, startReasons) ?? probes);
  if (event === undefined) return undefined;
  return { text: joined(event.reason, event.message), fix: [kubectl("describe", pod)] };
}

function lastEvent(
  { metadata }: Pod,
  { world, now }: Snapshot,
  reasons: ReadonlySet<string>,
): Event | undefined {
  return world
    .all("Event")
    .map(({ object }) => object)
    .filter(({ reason = "", involvedObject }) => involvedObject.uid === metadata.uid && reasons.has(reason))
    .filter((event) => isRecent(lastTime(event), now))
    .toSorted((a, b) => (lastTime(a) < lastTime(b) ? 1 : -1))[0];
}

function conditionText({ status }: Pod): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  if (ready === undefined) return "its kubelet has not reported anything about it";
  return `${joined(ready.reason, ready.message) || "not ready"}, since ${ready.lastTransitionTime}`;
}

const joined = (...parts: readonly (string | undefined)[]): string => parts.filter((part) => part).join(": ");
