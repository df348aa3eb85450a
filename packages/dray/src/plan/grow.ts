import type { Pod } from "@dray/api/core/v1";
import { controllerOf, targetNode } from "@dray/controllers/objects";
import type { OfflineScheduler, Placement } from "@dray/scheduler";
import { jsonText } from "../manifests/json-text.ts";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { copiesOf } from "./copies.ts";
import { explainRefusal, type PodExplanation } from "./explain.ts";
import { fewestPossible, largestFirst } from "./fewest.ts";
import { clusterOf, makePlan, type PlanOptions, preparePods } from "./plan.ts";
import { isBound, type PodUnit, scheduleUnit, waitingUnits } from "./units.ts";
import type { OriginPod } from "./workloads.ts";

/** How many more nodes help. */
export interface Growth {
  readonly like: string;
  /** How many more nodes are needed, for all pods that more nodes can help. */
  readonly needed: number;
  /** How many would do in another order of placing, with the largest pods of each priority first. */
  readonly fewest: FewestNodes;
  /** The pods that more nodes do not help, and why even an empty one refuses them. */
  readonly notHelped: readonly NotHelped[];
}

export interface FewestNodes {
  /** At most `needed`. */
  readonly count: number;
  /** No order of placing needs fewer. */
  readonly isProven: boolean;
}

export interface NotHelped {
  /** `namespace/name` */
  readonly pod: string;
  readonly reason: string;
  readonly explanation: PodExplanation | null;
}

/**
 * Finds how many copies of a node place every pod that more copies can help. A pod that an empty copy refuses
 * is beyond help. The count is the smallest one found with which a whole plan places all other pods (or, if
 * no count does, the maximum number of pods), and with one fewer not. These plans have the nodes from the
 * start, because pods spread otherwise there.
 */
export async function neededNodes(world: World, like: string, options: PlanOptions): Promise<Growth> {
  const { pods, helped, perNode, notHelped } = await tryCopies(world, like, options);
  const none: FewestNodes = { count: 0, isProven: true };
  if (helped === 0) return { like, needed: 0, fewest: none, notHelped };
  const hopeless = new Set(notHelped.map(({ pod }) => pod));
  const leftWith = async (
    copies: number,
    beyond: ReadonlySet<string>,
    order?: PlanOptions["order"],
  ): Promise<number> => {
    const more = copiesOf(world, like, copies);
    const added = new Set(more.map(({ object }) => object.metadata.name));
    const { pods } = await makePlan(world.with(more), { ...options, order });
    // Daemons of the new nodes do not ask for more nodes.
    return pods.filter(
      ({ node, pod }) => node === null && !beyond.has(nameOf(pod)) && !added.has(targetNode(pod) ?? ""),
    ).length;
  };
  // Pods that fit already may spread over the new nodes first: with one node per pod there is room for all.
  const enough = async (n: number): Promise<boolean> => (await leftWith(n, hopeless)) === 0;
  const needed = await smallest(Math.ceil(helped / perNode), pods, enough);
  if (needed < pods || (await enough(pods))) {
    const prepared = preparePods(world, options);
    const order = largestFirst(world, like, prepared);
    const bound = fewestPossible(world, like, { prepared, hopeless, features: options.features });
    const fewest = await fewestOf(needed, bound, async (n) =>
      pods <= maxReordered ? (await leftWith(n, hopeless, order)) === 0 : false,
    );
    return { like, needed, fewest, notHelped };
  }
  // Other pods come first and take what all nodes share: no number of nodes has room for all.
  const nobody = new Set<string>();
  const left = await leftWith(pods, nobody);
  if ((await leftWith(0, nobody)) <= left) return { like, needed: 0, fewest: none, notHelped };
  const asGood = async (n: number): Promise<boolean> => (await leftWith(n, nobody)) <= left;
  const best = await smallest(1, pods, asGood);
  return { like, needed: best, fewest: { count: best, isProven: false }, notHelped };
}

/** Maximum number of pods that are placed again in another order. */
const maxReordered = 1000;
/** Maximum number of numbers of nodes that are tried in another order. */
const maxTries = 10;

/** Tries smaller numbers in another order, down to the bound that holds for all orders. */
async function fewestOf(
  needed: number,
  bound: number,
  willDo: (count: number) => Promise<boolean>,
): Promise<FewestNodes> {
  let count = needed;
  for (let tries = 0; count > bound && tries < maxTries && (await willDo(count - 1)); tries++) count--;
  return { count, isProven: count <= bound };
}

/**
 * Searches for the smallest sufficient number from 1 to `most`, around a guess; returns `most` if none is
 * found.
 */
async function smallest(
  guess: number,
  max: number,
  willDo: (number: number) => Promise<boolean>,
): Promise<number> {
  let low = 0;
  let high = guess;
  for (let step = 1; !(await willDo(high)); step *= 2) {
    if (high === max) return max;
    low = high;
    high = Math.min(high + step, max);
  }
  for (let step = 1; high - low > 1; step *= 2) {
    // Close to the guess at first; by bisection if that is closer.
    const next = Math.max(high - step, Math.ceil((low + high) / 2));
    if (await willDo(next)) high = next;
    else low = next;
  }
  return high;
}

/**
 * Finds the kind of node with the smallest sufficient count, among those that help the maximum number of
 * pods. Nodes that differ only in their names are one kind. Returns undefined without nodes.
 */
export async function cheapestGrowth(world: World, options: PlanOptions): Promise<Growth | undefined> {
  let best: Growth | undefined;
  for (const like of kindsOfNodes(world)) {
    const growth = await neededNodes(world, like, options);
    const left = growth.notHelped.length - (best?.notHelped.length ?? Number.POSITIVE_INFINITY);
    if (best === undefined || left < 0 || (left === 0 && growth.needed < best.needed)) best = growth;
  }
  return best;
}

/** Returns one node of each kind: nodes that differ only in their names are one kind. */
export function kindsOfNodes(world: World): string[] {
  const kinds = new Map<string, string>();
  for (const { object } of world.all("Node")) {
    const { name } = object.metadata;
    const kind = kindText(world, name);
    if (!kinds.has(kind)) kinds.set(kind, name);
  }
  return [...kinds.values()].toSorted();
}

/** Equal for nodes with equal copies. */
function kindText(world: World, like: string): string {
  const parts = copiesOf(world, like, 1).map(({ object }) => {
    const { kind, metadata, spec } = object;
    const { allocatable } = "status" in object ? (object.status ?? {}) : {};
    return { kind, labels: metadata.labels, spec, allocatable };
  });
  return jsonText(parts).replaceAll(like, "");
}

/**
 * Returns how many pods wait, which of those without a node an empty copy accepts, and how many of them at
 * first. Adds copies as long as pods use them, so that each pod meets an empty one.
 */
async function tryCopies(
  world: World,
  like: string,
  options: PlanOptions,
): Promise<{ pods: number; helped: number; perNode: number; notHelped: readonly NotHelped[] }> {
  const { scheduler, pods } = clusterOf(world, options);
  const { features } = options;
  const all = waitingUnits(pods, features);
  const left = await unplaced(scheduler, all);
  const copies = copiesOf(world, like, left.length);
  const parts = copies.length / left.length;
  const known = new Set(pods.map(({ object }) => object.metadata.uid));
  const hasDaemons = world.all("DaemonSet").length > 0;
  let count = 0;

  /** Adds an empty copy with its daemons, and returns its name. */
  async function add(): Promise<string> {
    const added = copies.slice(count * parts, ++count * parts);
    for (const { object } of added) scheduler.add(object);
    if (hasDaemons) {
      const grown = preparePods(world.with(copies.slice(0, count * parts)), options);
      const own = grown.pods.filter(({ object }) => !isBound(object) && !known.has(object.metadata.uid));
      const uids = new Set(own.map(({ object }) => object.metadata.uid));
      for (const uid of uids) known.add(uid);
      for (const claim of grown.claims) if (uids.has(controllerOf(claim)?.uid ?? "")) scheduler.add(claim);
      await unplaced(scheduler, waitingUnits(own, features));
    }
    return added[0]!.object.metadata.name;
  }

  const total = sizeOf(all);
  if (left.length === 0) return { pods: total, helped: 0, perNode: 1, notHelped: [] };
  const empty = new Set([await add()]);
  const rest = await unplaced(scheduler, waitingUnits(left, features));
  if (rest.length < left.length) empty.clear();
  const perNode = Math.max(1, left.length - rest.length);
  const notHelped: NotHelped[] = [];
  for (const unit of waitingUnits(rest, features)) {
    // A group may need a node for each of its pods.
    while (empty.size < unit.pods.length && count < left.length) empty.add(await add());
    const placements = await scheduleUnit(scheduler, unit);
    for (const [i, { object }] of unit.pods.entries()) {
      const placement = placements[i]!;
      if (placement.type === "placed") empty.delete(placement.node);
      else notHelped.push(whyNotHelped(scheduler, object, placement, [...empty][0] ?? ""));
    }
  }
  return { pods: total, helped: left.length - notHelped.length, perNode, notHelped };
}

const sizeOf = (units: readonly PodUnit[]): number => units.reduce((sum, { pods }) => sum + pods.length, 0);

/** Tries the pods, and returns those without a node. */
async function unplaced(scheduler: OfflineScheduler, units: readonly PodUnit[]): Promise<OriginPod[]> {
  const left: OriginPod[] = [];
  for (const unit of units) {
    const placements = await scheduleUnit(scheduler, unit);
    for (const [i, each] of unit.pods.entries()) if (placements[i]!.type !== "placed") left.push(each);
  }
  return left;
}

function whyNotHelped(
  scheduler: OfflineScheduler,
  pod: Pod,
  placement: Exclude<Placement, { type: "placed" }>,
  node: string,
): NotHelped {
  const name = nameOf(pod);
  const rejection = placement.type === "refused" ? placement.rejections.get(node) : undefined;
  if (placement.type !== "refused" || rejection === undefined)
    return { pod: name, reason: placement.message, explanation: null };
  const onNode = { ...placement, rejections: new Map([[node, rejection]]) };
  const explanation = explainRefusal(onNode, [node], () => scheduler.explain(pod, node));
  return { pod: name, reason: rejection.reasons.join(", "), explanation };
}
