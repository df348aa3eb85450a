import type { KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims, isPodActive } from "@dray/api/pod";
import { controllerOf } from "@dray/controllers/objects";
import { resultsOf } from "../../inventory/devices.ts";
import { labelOfObject, nameOf } from "../../manifests/place.ts";
import { names } from "../../text/words.ts";
import type { Change, NodeData } from "../data.ts";
import type { Trial } from "../trial.ts";
import type { Attempts } from "./attempts.ts";
import { withoutConsumer } from "./claim-edits.ts";

/** Maximum number of nodes, and of pods on each, to try. */
const maxNodes = 2;
const maxPods = 16;
/** Maximum number of reported changes. */
const maxChanges = 2;

/**
 * Returns the minimum set of pods whose end makes room, lowest priority first, for each of the most promising
 * nodes: ends all of them, then restores one after the other if the pod still fits.
 */
export async function podsEnding(
  trial: Trial,
  nodes: readonly NodeData[],
  attempts: Attempts,
): Promise<Change[]> {
  const found: { readonly pods: readonly Pod[]; readonly node: string }[] = [];
  for (const { node } of nodes.slice(0, maxNodes)) {
    let ending = blockingPods(trial, node);
    if (ending.length === 0) continue;
    let landed = await attempts.ask("pods", () => trial.with(...without(trial, ending)));
    if (landed === null) continue;
    // The most important pods are restored first.
    for (const pod of ending.toReversed()) {
      const fewer = ending.filter((each) => each !== pod);
      if (fewer.length === 0) break;
      const node = await attempts.ask("pods", () => trial.with(...without(trial, fewer)));
      if (node !== null) [ending, landed] = [fewer, node];
    }
    found.push({ pods: ending, node: landed });
  }
  const unique = new Map(found.map((each) => [each.pods.map(nameOf).join(), each]));
  return [...unique.values()]
    .toSorted((a, b) => a.pods.length - b.pods.length || priorityOf(a.pods) - priorityOf(b.pods))
    .slice(0, maxChanges)
    .map(({ pods, node }) => ({
      kind: "pods",
      text: `${pods.length === 1 ? "pod" : "pods"} ${names(pods.map(nameOf))} ending`,
      node,
      about: { pods: pods.map(nameOf) },
    }));
}

const priority = ({ spec }: Pod): number => spec.priority ?? 0;
const priorityOf = (pods: readonly Pod[]): number => Math.max(...pods.map(priority));

/** Returns the pods on the node and those with devices that the node can reach, lowest priority first. */
function blockingPods(trial: Trial, node: string): Pod[] {
  const { world, pod } = trial;
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
      .filter((each) => each.metadata.uid !== pod.metadata.uid && isPodActive(each))
      .filter((each) => each.spec.nodeName === node || holders.has(each.metadata.uid))
      // The controller of a daemon replaces it at once.
      .filter((each) => controllerOf(each)?.kind !== "DaemonSet")
      .toSorted(
        (a, b) =>
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
