import type { KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims, isPodTerminal } from "@dray/api/pod";
import { controllerOf } from "@dray/controllers/objects";
import { resultsOf } from "../../inventory/devices.ts";
import { labelOfObject, nameOf } from "../../manifests/place.ts";
import type { Change, Landing, NodeData } from "../data.ts";
import type { Trial } from "../trial.ts";
import type { Attempts } from "./attempts.ts";
import { withoutConsumer } from "./claim-edits.ts";

/** Maximum number of nodes, and of pods on each, to try. */
const maxNodes = 4;
const maxPods = 32;
/** Maximum number of reported changes. */
const maxChanges = 2;

/**
 * Returns the minimum set of pods whose end makes room, those that are being deleted and then those of lowest
 * priority first, for each of the most promising nodes, and of the pods that have its claims elsewhere: ends
 * all of them, then restores one after the other if the pod still fits.
 */
export async function podsEnding(
  trial: Trial,
  nodes: readonly NodeData[],
  attempts: Attempts,
): Promise<Change[]> {
  const found: { readonly pods: readonly Pod[]; readonly landing: Landing }[] = [];
  const tried = new Set<string>();
  const sets = [...nodes.slice(0, maxNodes).map(({ node }) => blockingPods(trial, node)), otherUsers(trial)];
  for (const set of sets) {
    const key = set.map(nameOf).join();
    let ending = set;
    if (ending.length === 0 || tried.has(key)) continue;
    tried.add(key);
    let landing = await attempts.ask("pods", () => trial.with(...without(trial, ending)));
    if (landing === null) continue;
    // The most important pods are restored first.
    for (const pod of ending.toReversed()) {
      const fewer = ending.filter((each) => each !== pod);
      if (fewer.length === 0) break;
      const next = await attempts.ask("pods", () => trial.with(...without(trial, fewer)));
      if (next !== null) [ending, landing] = [fewer, next];
    }
    found.push({ pods: ending, landing });
  }
  // More important pods that wait may take all of what the end of several pods frees.
  if (found.length === 0 && trial.rivals.length > 0) {
    for (const pod of new Set(sets.flat())) {
      const landing = await attempts.ask("pods", () => trial.with(...without(trial, [pod])));
      if (landing !== null) found.push({ pods: [pod], landing });
    }
  }
  const unique = new Map(found.map((each) => [each.pods.map(nameOf).join(), each]));
  return [...unique.values()]
    .toSorted(
      (a, b) =>
        a.pods.filter(isKept).length - b.pods.filter(isKept).length ||
        a.pods.length - b.pods.length ||
        priorityOf(a.pods) - priorityOf(b.pods),
    )
    .slice(0, maxChanges)
    .map(({ pods, landing }) => ({
      kind: "pods",
      text: `${pods.length === 1 ? "pod" : "pods"} ${pods.map(nameOf).join(", ")} ending${deletedText(pods)}`,
      ...landing,
      about: { pods: pods.map(nameOf) },
    }));
}

/** A pod that is being deleted keeps what it has until it has ended. */
const isKept = ({ metadata }: Pod): boolean => metadata.deletionTimestamp === undefined;

function deletedText(pods: readonly Pod[]): string {
  const deleted = pods.filter((pod) => !isKept(pod));
  if (deleted.length === 0) return "";
  if (deleted.length < pods.length) return `; ${deleted.map(nameOf).join(", ")} being deleted already`;
  return pods.length === 1 ? ", which is being deleted" : ", which are being deleted";
}

/** Returns the other users of the pod's claims: without them the claims are free for other nodes. */
function otherUsers({ world, pod }: Trial): Pod[] {
  const uids = new Set(
    createdPodClaims(pod).flatMap(({ name }) =>
      (world.find("ResourceClaim", `${pod.metadata.namespace}/${name}`)?.status?.reservedFor ?? []).map(
        ({ uid }) => uid,
      ),
    ),
  );
  return world
    .all("Pod")
    .map(({ object }) => object)
    .filter(({ metadata: { uid } }) => uid !== pod.metadata.uid && uids.has(uid))
    .slice(0, maxPods);
}

const priority = ({ spec }: Pod): number => spec.priority ?? 0;
const priorityOf = (pods: readonly Pod[]): number => Math.max(...pods.map(priority));

/**
 * Returns the pods on the node and those with devices that the node can reach, those that are being deleted
 * first, then by priority.
 */
function blockingPods(trial: Trial, node: string): Pod[] {
  const { world, members } = trial;
  const own = new Set(members.map(({ metadata }) => metadata.uid));
  const pools = new Set(
    world
      .all("ResourceSlice")
      .filter(({ object: { spec } }) => spec.nodeName === undefined || spec.nodeName === node)
      .map(({ object: { spec } }) => `${spec.driver}/${spec.pool.name}`),
  );
  const holders = new Set(
    world
      .all("ResourceClaim")
      .filter(({ object }) => resultsOf(object).some((each) => pools.has(`${each.driver}/${each.pool}`)))
      .flatMap(({ object }) => object.status?.reservedFor?.map(({ uid }) => uid) ?? []),
  );
  return (
    world
      .all("Pod")
      .map(({ object }) => object)
      .filter((each) => !own.has(each.metadata.uid) && !isPodTerminal(each))
      .filter((each) => each.spec.nodeName === node || holders.has(each.metadata.uid))
      // The controller of a daemon replaces it at once.
      .filter((each) => controllerOf(each)?.kind !== "DaemonSet")
      .toSorted(
        (a, b) =>
          Number(isKept(a)) - Number(isKept(b)) ||
          Number(holders.has(b.metadata.uid)) - Number(holders.has(a.metadata.uid)) ||
          priority(a) - priority(b),
      )
      .slice(0, maxPods)
  );
}

/** Returns the changed objects after the end of these pods: their claims are deleted, or lose a consumer. */
function without(trial: Trial, pods: readonly Pod[]): [KubeObject[], Set<string>] {
  const gone = new Set(pods.map(labelOfObject));
  const changed = new Map<string, KubeObject>();
  for (const pod of pods) {
    for (const { name } of createdPodClaims(pod)) {
      const key = `${pod.metadata.namespace}/${name}`;
      const known = changed.get(key) ?? trial.world.find("ResourceClaim", key);
      if (known === undefined) continue;
      if (controllerOf(known)?.uid === pod.metadata.uid) gone.add(labelOfObject(known));
      else changed.set(key, withoutConsumer(known as Trial["open"][number], pod.metadata.uid));
    }
  }
  return [[...changed.values()], gone];
}
