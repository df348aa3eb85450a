import { awaitWithoutFaults, type Readable } from "../manifests/faults.ts";
import type { Live } from "../manifests/live.ts";
import { type Located, placeText } from "../manifests/place.ts";
import { checkPools } from "../manifests/pools.ts";
import type { World } from "../manifests/world.ts";
import { UsageError } from "../terminal/failure.ts";
import { names } from "../text/words.ts";
import { claimWarnings } from "./claim-warnings.ts";
import { copiesOf } from "./copies.ts";
import { cheapestGrowth, neededNodes } from "./grow.ts";
import { makePlan, type Plan, type PlanOptions } from "./plan.ts";
import { checkRights, RightsError } from "./rights.ts";
import { withoutReplacedPods } from "./rollout.ts";
import type { Summary } from "./summary.ts";
import { podWarnings } from "./warnings.ts";
import { workloadWarnings } from "./workloads.ts";

/** A question to `planWorld`. */
export interface PlanRequest {
  readonly options: PlanOptions;
  /** The cluster that was read, if one was. */
  readonly cluster?: { readonly name: string; readonly live: Live } | undefined;
  /** Nodes to add. */
  readonly addNodes?: { readonly count: number | "auto"; readonly like: string | undefined } | undefined;
}

export interface PlanAnswer {
  readonly plan: Plan;
  readonly addedNodes: Summary["addedNodes"];
  readonly notes: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Plans the pods of a world, with the nodes that are to be added. Leaves out objects that cannot be read.
 * Rejects with UsageError for a node that cannot be copied, and with RightsError.
 */
export function planWorld(world: World, request: PlanRequest): Promise<Readable<PlanAnswer>> {
  return awaitWithoutFaults(
    world,
    (readable) => answerOf(readable, request),
    (error) => error instanceof UsageError || error instanceof RightsError,
  );
}

async function answerOf(given: World, { options, cluster, addNodes }: PlanRequest): Promise<PlanAnswer> {
  const { features } = options;
  const live: readonly Located[] = cluster?.live.objects ?? [];
  const { world, notes } = withoutReplacedPods(given, live);
  const lacking =
    cluster === undefined
      ? []
      : checkRights({ name: cluster.name, missing: cluster.live.missing }, world, features);
  const addedNodes = addNodes && (await added(world, addNodes, options));
  const grown =
    addedNodes === undefined ? world : world.with(copiesOf(world, addedNodes.like, addedNodes.count));
  const plan = await makePlan(grown, options);
  const { scheduler } = plan.cluster;
  const warnings = [
    ...lacking,
    ...workloadWarnings(given),
    ...checkPools(world, features).map(
      ({ slice, path, message }) => `${placeText(slice.place, path)}: ${message}: its devices are not used`,
    ),
    ...claimWarnings(world),
    ...podWarnings(world, plan.pods, (namespace, name) => scheduler.claim(namespace, name), options),
  ];
  return { plan, addedNodes, notes, warnings };
}

/** Returns the node to copy and the number of copies. */
async function added(
  world: World,
  { count, like }: NonNullable<PlanRequest["addNodes"]>,
  options: PlanOptions,
): Promise<NonNullable<Summary["addedNodes"]>> {
  const nodes = world.all("Node").map(({ object }) => object.metadata.name);
  const known = nodes.length === 0 ? "no node is given" : `must be one of ${names(nodes)}`;
  if (like !== undefined && !nodes.includes(like)) throw new UsageError(`--like ${like}: ${known}`);
  if (count === "auto") {
    const growth = await (like === undefined
      ? cheapestGrowth(world, options)
      : neededNodes(world, like, options));
    if (growth === undefined) throw new UsageError(`--add-nodes auto: ${known}`);
    const { needed, ...rest } = growth;
    return { ...rest, count: needed };
  }
  const chosen = like ?? (nodes.length === 1 ? nodes[0] : undefined);
  if (chosen === undefined) throw new UsageError(`--add-nodes needs --like NODE: ${known}`);
  return { like: chosen, count };
}
