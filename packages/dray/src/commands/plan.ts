import { systemClock, timeText } from "@dray/client";
import { UsageError } from "../failure.ts";
import { readSources } from "../manifests/files.ts";
import { Selectors } from "../manifests/selectors.ts";
import { readWorld, type World } from "../manifests/world.ts";
import { featuresOption, wholeNumber } from "../options.ts";
import { printData } from "../output.ts";
import { claimWarnings } from "../plan/claim-warnings.ts";
import { copiesOf } from "../plan/copies.ts";
import { cheapestGrowth, neededNodes } from "../plan/grow.ts";
import { makePlan, type PlannedPod, type PlanOptions } from "../plan/plan.ts";
import { planText } from "../plan/print.ts";
import { counted, names } from "../plan/reason.ts";
import { type Summary, summarize } from "../plan/summary.ts";
import { podWarnings } from "../plan/warnings.ts";
import { remark } from "../verbosity.ts";

export interface PlanFlags {
  readonly filename: readonly string[];
  readonly recursive?: boolean;
  readonly namespace: string;
  readonly addNodes?: string;
  readonly like?: string;
  readonly output?: "json" | "yaml";
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
}

/** Most nodes that can be added. */
const mostNodes = 10_000;
/** Most notes and warnings that people are told. */
const mostRemarks = 20;

/** Says where every pod would land. Its exit code is 1 if one does not fit. */
export async function plan(flags: PlanFlags): Promise<void> {
  const features = featuresOption(flags);
  const count =
    flags.addNodes === undefined || flags.addNodes === "auto"
      ? flags.addNodes
      : wholeNumber("--add-nodes", flags.addNodes, 1, mostNodes);
  if (count === undefined && flags.like !== undefined)
    throw new UsageError("--like needs --add-nodes COUNT or --add-nodes auto");
  const selectors = new Selectors(features);
  const sources = await readSources(flags.filename, flags.recursive);
  const { world, notes } = readWorld(sources, {
    features,
    namespace: flags.namespace,
    selectors,
    now: timeText(systemClock.now()),
  });
  const options: PlanOptions = { features, now: () => systemClock.now() };
  const addedNodes = count === undefined ? undefined : await added(world, count, flags.like, options);
  const grown =
    addedNodes === undefined ? world : world.with(copiesOf(world, addedNodes.like, addedNodes.count));
  const plan = await makePlan(grown, options);
  const { scheduler } = plan.cluster;
  const warnings = [
    ...selectors.warnings,
    ...claimWarnings(world),
    ...podWarnings(world, plan.pods, (namespace, name) => scheduler.claim(namespace, name)),
  ];
  const summary = summarize(plan, {
    kubernetesVersion: features.version,
    warnings,
    ...(addedNodes && { addedNodes }),
  });
  remarks("note", notes);
  remarks("warning", warnings);
  if (summary.unplaced > 0) process.exitCode = 1;
  if (flags.output === undefined) process.stdout.write(planText(plan.pods, summary));
  else await printData({ pods: plan.pods.map(podData), summary }, flags.output);
}

/** Prints the first of them, unless the user wants data only. */
function remarks(what: "note" | "warning", texts: readonly string[]): void {
  for (const text of texts.slice(0, mostRemarks)) remark(`${what}: ${text}\n`);
  const rest = texts.length - mostRemarks;
  if (rest <= 0) return;
  const all = what === "warning" ? " (-o json has them all)" : "";
  remark(`${what}: and ${counted(rest, `more ${what}`)}${all}\n`);
}

function podData({ pod, node, claims, reason, explanation }: PlannedPod): object {
  const { namespace, name } = pod.metadata;
  return { namespace, name, node, claims, reason, explanation };
}

/** Which node is copied, and how often. */
async function added(
  world: World,
  count: number | "auto",
  like: string | undefined,
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
    return { like: growth.like, count: growth.needed, notHelped: growth.notHelped };
  }
  const chosen = like ?? (nodes.length === 1 ? nodes[0] : undefined);
  if (chosen === undefined) throw new UsageError(`--add-nodes needs --like NODE: ${known}`);
  return { like: chosen, count };
}
