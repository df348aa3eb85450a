import type { DaemonSet } from "@dray/api/apps/v1";
import type { Pod } from "@dray/api/core/v1";
import { counted, names } from "../text/words.ts";
import { isReady } from "./driver-pods.ts";
import { type DriverProgram, driverPrograms } from "./driver-programs.ts";
import { type Finding, finding, kubectl, type Snapshot, word } from "./finding.ts";
import { isLongUnready, troubleOf } from "./pod-troubles.ts";
import { isRecent, lastTime } from "./times.ts";

/** Finds programs of drivers whose pods do not become ready, or cannot be created. */
export function checkDriverReadiness(snapshot: Snapshot): Finding[] {
  return driverPrograms(snapshot.world).flatMap((program) => [
    ...notCreated(program, snapshot),
    ...notReady(program, snapshot),
  ]);
}

/** Returns the pods of drivers that are not ready for long. */
export const unreadyDriverPods = ({ world, now }: Snapshot): Pod[] =>
  driverPrograms(world).flatMap(({ pods }) => pods.filter((pod) => isLongUnready(pod, now)));

/** Maximum number of different troubles that are shown. */
const maxShown = 3;

function notReady({ owner, pods }: DriverProgram, snapshot: Snapshot): Finding[] {
  const unready = pods.filter((pod) => isLongUnready(pod, snapshot.now));
  if (unready.length === 0) return [];
  const troubles = unready.map((pod) => ({ pod, ...troubleOf(pod, snapshot) }));
  const alike = [
    ...Map.groupBy(troubles, ({ text, pod }) => text.replaceAll(pod.metadata.name, "")).values(),
  ];
  const shown = alike.toSorted((a, b) => b.length - a.length).slice(0, maxShown);
  const evidence = shown.map((same) => `${names(same.map(({ pod }) => placeOf(pod)))}: ${same[0]!.text}`);
  const rest = alike.length - shown.length;
  // The commands that show more come first: the pods that they name are gone after an undo.
  const fix = [...new Set(shown.flatMap((same) => same[0]!.fix)), ...undoRollout(owner, unready, pods)];
  const which =
    pods.length === 1
      ? "its pod is"
      : `${unready.length} of its ${pods.length} pods ${unready.length === 1 ? "is" : "are"}`;
  return [
    finding("driver-not-ready", owner, `belongs to a driver, and ${which} not ready`, {
      evidence: rest > 0 ? [...evidence, `${counted(rest, "pod")} for other reasons`] : evidence,
      fix,
    }),
  ];
}

const placeOf = ({ metadata, spec }: Pod): string =>
  spec.nodeName ? `pod ${metadata.name} on node ${spec.nodeName}` : `pod ${metadata.name}`;

/** Labels of pods with the revision of their template. */
const revisionLabels = ["controller-revision-hash", "pod-template-hash"];
const revisionOf = ({ metadata }: Pod): string | undefined =>
  revisionLabels.flatMap((key) => metadata.labels?.[key] ?? [])[0];

/** A rollout that has stopped, as its new pods do not become ready, while pods of the revision before are. */
function undoRollout(
  { kind, metadata }: DriverProgram["owner"],
  unready: readonly Pod[],
  pods: readonly Pod[],
): string[] {
  const failing = new Set(unready.map(revisionOf));
  const ready = new Set(pods.filter(isReady).map(revisionOf));
  if (failing.size !== 1 || ready.size !== 1 || failing.union(ready).size !== 2) return [];
  return [`kubectl rollout undo ${kind.toLowerCase()}/${metadata.name} -n ${metadata.namespace}`];
}

/** A DaemonSet whose pods are refused, or that no node is for. */
function notCreated({ daemonSet }: DriverProgram, snapshot: Snapshot): Finding[] {
  if (daemonSet === undefined) return [];
  const { world, now } = snapshot;
  const { desiredNumberScheduled = 0, currentNumberScheduled = 0 } = daemonSet.status ?? {};
  if (desiredNumberScheduled === 0) return noNodes(daemonSet, snapshot);
  if (currentNumberScheduled >= desiredNumberScheduled) return [];
  const refused = world
    .all("Event")
    .map(({ object }) => object)
    .filter(
      (event) =>
        event.reason === "FailedCreate" &&
        event.involvedObject.uid === daemonSet.metadata.uid &&
        isRecent(lastTime(event), now),
    )
    .toSorted((a, b) => (lastTime(a) < lastTime(b) ? 1 : -1))[0];
  if (refused === undefined) return [];
  const missing = desiredNumberScheduled - currentNumberScheduled;
  const message = `belongs to a driver, and ${counted(missing, "pod")} of it cannot be created`;
  const evidence = [`${refused.reason}: ${refused.message}`];
  const fix = fixOfRefusal(refused.message ?? "", daemonSet);
  return [finding("driver-not-ready", daemonSet, message, { evidence, fix })];
}

/** Upstream: plugin/pkg/admission/serviceaccount and staging/src/k8s.io/pod-security-admission. */
function fixOfRefusal(message: string, daemonSet: DaemonSet): string[] {
  const { namespace } = daemonSet.metadata;
  const account = /serviceaccount "([^"]+)" not found/.exec(message)?.[1];
  if (account !== undefined) return [`kubectl create serviceaccount ${account} -n ${namespace}`];
  // A plugin needs folders of its node, which only the profile privileged allows.
  if (message.includes("violates PodSecurity"))
    return [`kubectl label namespace ${namespace} pod-security.kubernetes.io/enforce=privileged --overwrite`];
  return [kubectl("describe", daemonSet)];
}

function noNodes(daemonSet: DaemonSet, { world }: Snapshot): Finding[] {
  const { status, metadata, spec } = daemonSet;
  const { nodeSelector = {}, affinity } = spec.template.spec;
  const wanted = Object.entries(nodeSelector).map(([key, value]) => `${key}=${value}`);
  const terms =
    affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const keys = terms.flatMap(({ matchExpressions = [] }) => matchExpressions.map(({ key }) => key));
  const isSeen = Number(status?.observedGeneration ?? 0) >= Number(metadata.generation ?? 1);
  const nodes = world.all("Node");
  if (!isSeen || nodes.length === 0 || wanted.length + keys.length === 0) return [];
  const labels = [...new Set([...Object.keys(nodeSelector), ...keys])];
  const evidence = [
    ...(wanted.length === 0 ? [] : [`its nodeSelector is ${wanted.join(", ")}`]),
    ...(keys.length === 0 ? [] : [`its node affinity is about ${names([...new Set(keys)])}`]),
    `status.desiredNumberScheduled is 0 of ${counted(nodes.length, "node")}`,
  ];
  const fix = [`kubectl get nodes -L ${word(labels.join(","))}`];
  const message = "belongs to a driver, and no node has the labels that it wants";
  return [finding("driver-not-ready", daemonSet, message, { evidence, fix, isMinor: true })];
}
