import { systemClock, timeText } from "@dray/client";
import { faultProblem, leftOutOf } from "../../manifests/fault-problem.ts";
import { readSources } from "../../manifests/files.ts";
import { withFleets } from "../../manifests/fleet-documents.ts";
import { problemTexts } from "../../manifests/problem.ts";
import { readObjects } from "../../manifests/read.ts";
import { Selectors } from "../../manifests/selectors.ts";
import { readCluster } from "../../observe/cluster.ts";
import { chooseSchedulerConfig } from "../../observe/scheduler-config.ts";
import { type ClusterFlags, namesCluster } from "../../options/manifest-options.ts";
import { featuresOption, labelSelector, wholeNumber } from "../../options/values.ts";
import { planWorld } from "../../plan/answer.ts";
import type { PlannedPod } from "../../plan/plan.ts";
import { planText } from "../../plan/print.ts";
import { summarize } from "../../plan/summary.ts";
import { UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { printText, tableFormat } from "../../terminal/print-text.ts";
import { type Progress, withProgress } from "../../terminal/progress.ts";
import { remark } from "../../terminal/verbosity.ts";
import { counted } from "../../text/words.ts";

export interface PlanFlags extends ClusterFlags {
  readonly schedulerConfig?: string;
  readonly filename: readonly string[];
  readonly recursive?: boolean;
  readonly addNodes?: string;
  readonly like?: string;
  readonly selector?: string;
  readonly headers?: boolean;
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
  const hasLabels = flags.selector === undefined ? () => true : labelSelector("--selector", flags.selector);
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
  const scheduling = await chooseSchedulerConfig(flags, cluster, features);
  progress.update("Preparing the plan");
  const { answer, faults } = await planWorld(reading.world, {
    options: {
      features,
      configuration: scheduling.configuration,
      now: () => systemClock.now(),
      onProgress: (placed, pods) => progress.update(`Placing pods: ${placed} of ${pods}`),
    },
    cluster,
    addNodes: count === undefined ? undefined : { count, like: flags.like },
  });
  const { plan, addedNodes } = answer;
  const problems = [...reading.problems, ...faults.map((fault) => faultProblem(reading.world, fault))];
  const leftOut = [...reading.leftOut, ...faults.flatMap((fault) => leftOutOf(reading.world, fault))];
  const notes = [...(cluster?.notes ?? []), ...scheduling.notes, ...reading.notes, ...answer.notes];
  const warnings = [...reading.warnings, ...selectors.warnings, ...answer.warnings];
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
  const listed = plan.pods.filter(({ pod }) => hasLabels(pod.metadata.labels));
  const { unplaced, pending, refused } = summary;
  if (unplaced + pending + refused + problems.length > 0) process.exitCode = 1;
  if (flags.output === undefined || flags.output === "wide")
    printText(planText(listed, summary, { leftOut, format: tableFormat(flags) }));
  else await printData({ pods: listed.map(podData), summary }, flags.output);
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
