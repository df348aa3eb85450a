import type { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { awaitWithoutFaults } from "../manifests/faults.ts";
import { nameOf } from "../manifests/place.ts";
import type { LackingRight, Rights } from "../observe/rights.ts";
import { podsOf } from "../plan/workloads.ts";
import { plainFormat, type TableFormat, table } from "../text/table.ts";
import { counted } from "../text/words.ts";
import { type LeftOutObject, leftOutOf, type Wait } from "./data.ts";
import { allWaits, canBePlaced, stateOfPod, trialOf, waitsOfPod } from "./pod.ts";
import { type Scene, wait } from "./scene.ts";

/** Output of `dray explain` without a name, -o json; its schema is schema/explain-list.json. */
export interface Overview {
  readonly version: 1;
  readonly kind: "List";
  /** The pods and claims that wait, are stuck or have failed, by namespace and name. */
  readonly items: readonly OverviewItem[];
  /** Objects that could not be read, and were left out. */
  readonly leftOut?: readonly LeftOutObject[];
  readonly missing: readonly LackingRight[];
}

export interface OverviewItem {
  readonly kind: "Pod" | "ResourceClaim";
  readonly namespace: string;
  readonly name: string;
  readonly state: string;
  /** The first reason. */
  readonly wait: Wait;
}

/** Maximum number of pods without words of a scheduler that are tried. */
const maxTrials = 50;

/** The objects that are wanted; absent: all. */
export interface OverviewFilter {
  readonly namespace?: string;
  readonly hasLabels?: (labels: Readonly<Record<string, string>> | undefined) => boolean;
}

/** Lists what waits without the objects that cannot be read, which the answer names. */
export async function overviewOf(scene: Scene, filter: OverviewFilter, rights: Rights): Promise<Overview> {
  const { answer, faults } = await awaitWithoutFaults(scene.world, (world) =>
    overviewOfAll({ ...scene, world }, filter, rights),
  );
  return faults.length === 0 ? answer : { ...answer, leftOut: leftOutOf(faults) };
}

/** Lists what waits, with its first cause. */
async function overviewOfAll(
  scene: Scene,
  { namespace, hasLabels = () => true }: OverviewFilter,
  rights: Rights,
): Promise<Overview> {
  const { world, surroundings } = scene;
  const isWanted = ({ metadata }: Pick<Pod, "metadata">): boolean =>
    (namespace === undefined || metadata.namespace === namespace) && hasLabels(metadata.labels);
  const events = Map.groupBy(
    surroundings.events,
    ({ involvedObject }) => `${involvedObject?.namespace}/${involvedObject?.name}`,
  );
  const items: OverviewItem[] = [];
  let trials = 0;
  // Manifests have no controllers: the pods of their workloads wait as well.
  const nodes = world.all("Node").map(({ object }) => object);
  const pods = surroundings.isLive ? world.all("Pod") : podsOf(world, nodes);
  for (const { object: pod } of pods) {
    if (!isWanted(pod) || (isPodTerminal(pod) && pod.status?.phase !== "Failed")) continue;
    const own = { ...scene, surroundings: { ...surroundings, events: events.get(nameOf(pod)) ?? [] } };
    const isFuture = world.find("Pod", nameOf(pod)) === undefined;
    const first = waitsOfPod(pod, own).filter(({ for: what }) => !isFuture || what !== "claim-not-created");
    const [found] = first.length > 0 ? first : await placementWaits(pod, own, () => trials++ < maxTrials);
    const { namespace, name } = pod.metadata;
    if (found !== undefined)
      items.push({ kind: "Pod", namespace, name, state: stateOfPod(pod), wait: found });
  }
  for (const { object } of world.all("ResourceClaim")) {
    const { namespace, name, deletionTimestamp, finalizers = [] } = object.metadata;
    if (!isWanted(object) || deletionTimestamp === undefined) continue;
    const users = (object.status?.reservedFor ?? []).map((each) => each.name);
    const why =
      users.length > 0 ? `it is reserved for ${users.join(", ")}` : `finalizer ${finalizers.join(", ")}`;
    const found = wait(users.length > 0 ? "termination" : "finalizers", why, {
      since: String(deletionTimestamp),
    });
    items.push({ kind: "ResourceClaim", namespace, name, state: "deleting", wait: found });
  }
  const order = ({ namespace, kind, name }: OverviewItem): string => `${namespace}\n${kind}\n${name}`;
  return {
    version: 1,
    kind: "List",
    items: items.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)),
    missing: rights.missing,
  };
}

/** Returns the scheduler's words; without any, those of a trial. */
async function placementWaits(pod: Pod, scene: Scene, mayTry: () => boolean): Promise<readonly Wait[]> {
  if (stateOfPod(pod) !== "waiting") return [];
  const said = allWaits(pod, scene, [], null);
  if (said.length > 0 || !canBePlaced(pod, []) || !mayTry()) return said;
  const { placement } = await trialOf(pod, scene, []).try();
  if (placement.type !== "placed") return [wait("nodes", placement.message)];
  return [wait("scheduler", `it fits on node ${placement.node}: a scheduler has not tried it yet`)];
}

/** Formats one line for each. */
export function overviewText({ items }: Overview, format: TableFormat = plainFormat): string {
  if (items.length === 0) return format.headers ? "nothing waits\n" : "";
  const rows = items.map(({ kind, namespace, name, state, wait: { message } }) => [
    namespace,
    `${kind === "Pod" ? "pod" : "claim"}/${name}`,
    state,
    message,
  ]);
  const title = `${counted(items.length, "object")} ${items.length === 1 ? "waits" : "wait"} or ${items.length === 1 ? "is" : "are"} stuck; dray explain KIND/NAME -n NAMESPACE says more`;
  const list = table(
    ["NAMESPACE", { title: "NAME", wraps: true }, "STATE", { title: "CAUSE", wraps: true }],
    rows,
    format,
  );
  return format.headers ? `${list}\n${title}\n` : list;
}
