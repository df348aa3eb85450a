import { systemClock, timeText } from "@dray/client";
import type { Finding } from "../../lint/finding.ts";
import { type LintResult, lint as lintManifests } from "../../lint/lint.ts";
import { findingText, githubText, type LintSummary, summaryText } from "../../lint/print.ts";
import { type RuleId, ruleIds } from "../../lint/rules.ts";
import { servedBy } from "../../lint/served.ts";
import type { DecodeOptions } from "../../manifests/decode.ts";
import { readSources } from "../../manifests/files.ts";
import { withFleets } from "../../manifests/fleet-documents.ts";
import type { Live } from "../../manifests/live.ts";
import { Selectors } from "../../manifests/selectors.ts";
import { type ReadCluster, readCluster } from "../../observe/cluster.ts";
import { existingObjects } from "../../observe/cluster-files.ts";
import { chooseSchedulerConfig } from "../../observe/scheduler-config.ts";
import { type ClusterFlags, namesCluster } from "../../options/manifest-options.ts";
import { featuresOption, runtimeConfigOption } from "../../options/values.ts";
import { reportFailure, UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { printText } from "../../terminal/print-text.ts";
import { type Progress, withProgress } from "../../terminal/progress.ts";
import { remark, say } from "../../terminal/verbosity.ts";
import { didYouMean } from "../../text/similar.ts";
import { names } from "../../text/words.ts";
import { TrialServer } from "../../trial-server/server.ts";

export interface LintFlags extends ClusterFlags {
  readonly schedulerConfig?: string;
  readonly filename: readonly string[];
  readonly recursive?: boolean;
  readonly cluster: readonly string[];
  readonly runtimeConfig?: string;
  readonly severity: "error" | "warning";
  readonly ignore: readonly string[];
  readonly output?: "json" | "yaml" | "github";
}

/** Kinds in files that no argument names. */
const workloads: ReadonlySet<string> = new Set([
  "deployments.apps",
  "replicasets.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "jobs.batch",
]);

/** Exit code if a file or the cluster cannot be read. */
const notChecked = 2;

/** Reports whether every list of a cluster is forbidden: then nothing is checked against it. */
const seesNothing = ({ objects, missing }: Live): boolean =>
  objects.length === 0 &&
  missing.some(({ kind }) => kind === "ResourceSlice") &&
  missing.some(({ kind }) => kind === "Pod");

/** Prints what in manifests would be rejected or would hang. The exit code is 1 if there are errors. */
export function lint(files: readonly string[], flags: LintFlags): Promise<void> {
  return withProgress("Reading the manifests", (progress) => lintWith(files, flags, progress));
}

async function lintWith(files: readonly string[], flags: LintFlags, progress: Progress): Promise<void> {
  featuresOption(flags);
  const runtimeConfig = runtimeConfigOption(flags.runtimeConfig ?? "");
  const ignored = new Set(flags.ignore.flatMap((list) => list.split(",")).map(ruleOption));
  const filenames = [...files, ...flags.filename];
  if (filenames.length === 0)
    throw new UsageError("name the manifests: files, directories, - for standard input");
  const given = await readSources(filenames, flags.recursive);
  let cluster: ReadCluster | undefined;
  try {
    const isLive = namesCluster(flags);
    if (isLive) progress.update("Reading the cluster");
    cluster = isLive ? await readCluster(flags) : undefined;
  } catch (error) {
    progress.stop();
    process.exitCode = Math.max(notChecked, reportFailure(error, process.stderr, "dray lint"));
    return;
  }
  const features = cluster?.features ?? featuresOption(flags);
  const isBlind = cluster !== undefined && seesNothing(cluster.live);
  const options: DecodeOptions = {
    features,
    namespace: flags.namespace ?? cluster?.namespace ?? "default",
    selectors: new Selectors(features),
    now: timeText(systemClock.now()),
    progress,
  };
  const { configuration, notes: scheduling } = await chooseSchedulerConfig(flags, cluster, features);
  const notes = [
    ...(cluster?.notes ?? []),
    ...scheduling,
    ...(cluster?.live.missing ?? []).map(({ resource }) => {
      const without = workloads.has(resource) ? "changes of them are" : "what names them is";
      return `${cluster?.name}: no right to list ${resource}: ${without} not checked`;
    }),
  ];
  const existing = await existingObjects(flags, options, cluster?.live);
  const sources = await withFleets(given, features, existing?.objects);
  const server = await TrialServer.start({
    kubernetesVersion: features.version,
    featureGates: new Map(features.states),
  });
  let result: LintResult;
  try {
    result = await lintManifests({
      sources,
      cluster: existing,
      isLive: cluster !== undefined,
      served: servedBy(features, runtimeConfig, cluster?.kinds),
      options,
      configuration,
      now: () => systemClock.now(),
      server,
      onProgress: (text) => progress.update(text),
    });
  } finally {
    await server.close();
  }
  progress.stop();
  for (const note of notes) remark(`note: ${note}\n`);
  if (isBlind)
    process.stderr.write(
      `error: ${cluster?.name}: no right to list anything: the manifests are not checked against the cluster; without --live they are judged by themselves\n`,
    );
  const findings = result.findings.filter(({ rule }) => !ignored.has(rule));
  const count = (severity: Finding["severity"]): number =>
    findings.filter((each) => each.severity === severity).length;
  const summary: LintSummary = {
    kubernetesVersion: features.version,
    files: sources.sources.length,
    objects: result.objects,
    unchecked: result.unchecked.length,
    errors: count("error"),
    warnings: count("warning"),
  };
  if (summary.errors > 0) process.exitCode = 1;
  if (isBlind || findings.some(({ rule }) => rule === "unreadable")) process.exitCode = notChecked;
  const shown =
    flags.severity === "error" ? findings.filter(({ severity }) => severity === "error") : findings;
  await print(shown, summary, result, flags.output);
}

async function print(
  findings: readonly Finding[],
  summary: LintSummary,
  { unchecked }: LintResult,
  output: LintFlags["output"],
): Promise<void> {
  if (output === "json" || output === "yaml") return printData({ findings, summary }, output);
  const text = output === "github" ? githubText : findingText;
  const lines = findings.map(text).join("");
  // A workflow command is one line.
  if (output === "github") process.stdout.write(lines);
  else printText(lines);
  if (unchecked.length > 0) {
    const kinds = new Set(unchecked.map(({ draft }) => `${draft.kind} (${draft.apiVersion})`));
    remark(`note: not checked, since their kinds are not built in: ${names([...kinds])}\n`);
  }
  if (findings.length > 0 && output === undefined) say("\n");
  say(summaryText(summary));
}

function ruleOption(name: string): RuleId {
  const rule = ruleIds.find((id) => id === name.trim());
  if (rule !== undefined) return rule;
  const meant = didYouMean(name, ruleIds) ?? `must be one of ${ruleIds.join(", ")}`;
  throw new UsageError(`--ignore ${name}: no such rule: ${meant}`);
}
