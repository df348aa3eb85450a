import { systemClock, timeText } from "@dray/client";
import { readSources } from "../../manifests/files.ts";
import { withFleets } from "../../manifests/fleet-documents.ts";
import { placeText } from "../../manifests/place.ts";
import { checkPools } from "../../manifests/pools.ts";
import { problemTexts } from "../../manifests/problem.ts";
import { readObjects } from "../../manifests/read.ts";
import { Selectors } from "../../manifests/selectors.ts";
import type { World } from "../../manifests/world.ts";
import { readCluster } from "../../observe/cluster.ts";
import { chooseSchedulerConfig } from "../../observe/scheduler-config.ts";
import { type ClusterFlags, namesCluster } from "../../options/manifest-options.ts";
import { featuresOption, wholeNumber } from "../../options/values.ts";
import { claimWarnings } from "../../plan/claim-warnings.ts";
import { copiesOf } from "../../plan/copies.ts";
import { cheapestGrowth, neededNodes } from "../../plan/grow.ts";
import { makePlan, type PlannedPod, type PlanOptions } from "../../plan/plan.ts";
import { planText } from "../../plan/print.ts";
import { checkRights } from "../../plan/rights.ts";
import { withoutReplacedPods } from "../../plan/rollout.ts";
import { type Summary, summarize } from "../../plan/summary.ts";
import { podWarnings } from "../../plan/warnings.ts";
import { workloadWarnings } from "../../plan/workloads.ts";
import { UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { printText, tableFormat } from "../../terminal/print-text.ts";
import { type Progress, withProgress } from "../../terminal/progress.ts";
import { remark } from "../../terminal/verbosity.ts";
import { counted, names } from "../../text/words.ts";

export interface PlanFlags extends ClusterFlags {
  readonly schedulerConfig?: string;
  readonly filename: readonly string[];
  readonly recursive?: boolean;
  readonly addNodes?: string;
  readonly like?: string;
  readonly output?: "json" | "yaml" | "wide";
}

/** Maximum number of nodes that can be added. */
const maxNodes = 10_000;
/** Maximum number of notes and warnings. */
const maxRemarks = 20;

/** Prints where every pod would be placed. The exit code is 1 if one does not fit. */
export function plan(flags: PlanFlags): Promise<void> {
  return withProgress("Reading the objects", (progress) => planWith(flags, progress));
}

async function planWith(flags: PlanFlags, progress: Progress): Promise<void> {
  featuresOption(flags);
  const count =
    flags.addNodes === undefined || flags.addNodes === "auto"
      ? flags.addNodes
      : wholeNumber("--add-nodes", flags.addNodes, 1, maxNodes);
  if (count === undefined && flags.like !== undefined)
    throw new UsageError("--like needs --add-nodes COUNT or --add-nodes auto");
  const isLive = namesCluster(flags);
  if (!isLive && flags.filename.length === 0)
    throw new UsageError("name manifests with -f, or a cluster with --live, --kubeconfig or --context");
  const given = await readSources(flags.filename, flags.recursive);
  if (isLive) progress.update("Reading the cluster");
  const cluster = isLive ? await readCluster(flags) : undefined;
  const features = cluster?.features ?? featuresOption(flags);
  const sources = await withFleets(given, features, cluster?.live.objects);
  const selectors = new Selectors(features);
  const reading = readObjects(
    sources,
    {
      features,
      namespace: flags.namespace ?? cluster?.namespace ?? "default",
      selectors,
      now: timeText(systemClock.now()),
      progress,
    },
    cluster?.live,
  );
  const { problems, leftOut } = reading;
  const { world, notes: rollouts } = withoutReplacedPods(reading.world, cluster?.live.objects ?? []);
  const lacking =
    cluster === undefined
      ? []
      : checkRights({ name: cluster.name, missing: cluster.live.missing }, world, features);
  const scheduling = await chooseSchedulerConfig(flags, cluster, features);
  const notes = [...(cluster?.notes ?? []), ...scheduling.notes, ...reading.notes, ...rollouts];
  progress.update("Preparing the plan");
  const options: PlanOptions = {
    features,
    configuration: scheduling.configuration,
    now: () => systemClock.now(),
    onProgress: (placed, pods) => progress.update(`Placing pods: ${placed} of ${pods}`),
  };
  const addedNodes = count === undefined ? undefined : await added(world, count, flags.like, options);
  const grown =
    addedNodes === undefined ? world : world.with(copiesOf(world, addedNodes.like, addedNodes.count));
  const plan = await makePlan(grown, options);
  const { scheduler } = plan.cluster;
  const warnings = [
    ...lacking,
    ...reading.warnings,
    ...selectors.warnings,
    ...workloadWarnings(reading.world),
    ...checkPools(world, features).map(
      ({ slice, path, message }) => `${placeText(slice.place, path)}: ${message}: its devices are not used`,
    ),
    ...claimWarnings(world),
    ...podWarnings(world, plan.pods, (namespace, name) => scheduler.claim(namespace, name), options),
  ];
  const summary = summarize(plan, {
    kubernetesVersion: features.version,
    warnings,
    errors: problems,
    leftOut: leftOut.length,
    ...(addedNodes && { addedNodes }),
  });
  progress.stop();
  for (const text of problemTexts(problems)) process.stderr.write(`error: ${text}\n`);
  remarks("note", notes);
  remarks("warning", warnings);
  const { unplaced, pending, refused } = summary;
  if (unplaced + pending + refused + problems.length > 0) process.exitCode = 1;
  if (flags.output === undefined || flags.output === "wide")
    printText(planText(plan.pods, summary, { leftOut, format: tableFormat(flags) }));
  else await printData({ pods: plan.pods.map(podData), summary }, flags.output);
}

/** Prints the first of them, unless the user wants data only. */
function remarks(what: "note" | "warning", texts: readonly string[]): void {
  for (const text of texts.slice(0, maxRemarks)) remark(`${what}: ${text}\n`);
  const rest = texts.length - maxRemarks;
  if (rest <= 0) return;
  const all = what === "warning" ? " (-o json has them all)" : "";
  remark(`${what}: and ${counted(rest, `more ${what}`)}${all}\n`);
}

function podData({ pod, status, node, claims, claimResources, ...why }: PlannedPod): object {
  const { namespace, name } = pod.metadata;
  return {
    namespace,
    name,
    status,
    node,
    claims: claims.map(({ name, podClaim, allocation }) => ({ name, podClaim, allocation })),
    claimResources,
    reason: why.reason,
    hints: why.hints,
    explanation: why.explanation,
  };
}

/** Returns the node to copy and the number of copies. */
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
