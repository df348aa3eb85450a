import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "@dray/client";
import { confirmed, type Diagnosis, diagnose } from "../../doctor/doctor.ts";
import type { ObjectName } from "../../doctor/finding.ts";
import { type DoctorData, doctorText, junitText } from "../../doctor/print.ts";
import { doctorKinds, type Examination, readSnapshot } from "../../doctor/read.ts";
import { type RuleId, ruleIds, rules } from "../../doctor/rules.ts";
import type { World } from "../../manifests/world.ts";
import type { ObserveFlags } from "../../observe/read.ts";
import { grantText, missingRightLines, rightsOf } from "../../observe/rights.ts";
import { durationOption, labelSelector } from "../../options/values.ts";
import { reportFailure, UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { printText } from "../../terminal/print-text.ts";
import { withProgress } from "../../terminal/progress.ts";
import { remark } from "../../terminal/verbosity.ts";
import { didYouMean } from "../../text/similar.ts";

export interface DoctorFlags extends ObserveFlags {
  readonly rule: readonly string[];
  readonly skip: readonly string[];
  readonly severity: "error" | "warning";
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly settle?: string;
  readonly rights?: boolean;
  readonly output?: "json" | "yaml" | "junit";
}

/** Exit code if a file or the cluster cannot be read. */
const notExamined = 2;

/** Prints what is wrong with a cluster. The exit code is 1 if there are findings. */
export async function doctor(flags: DoctorFlags): Promise<void> {
  const wanted = wantedRules(flags);
  const settle = /^0+(?:[a-z]+)?$/.test(flags.settle ?? "")
    ? 0
    : durationOption("--settle", flags.settle ?? "5s");
  if (flags.rights === true) return void process.stdout.write(grantText("doctor", rightsOf(doctorKinds, [])));
  let examined: Examination;
  let diagnosis: Diagnosis;
  try {
    [examined, diagnosis] = await withProgress("Reading the objects", async (progress) => {
      const first = await readSnapshot(flags, systemClock.now());
      progress.update("Looking for what is wrong");
      const found = diagnose(first.snapshot, new Set(wanted));
      if (found.findings.length === 0 || !first.isLive || settle === 0) return [first, found];
      // A running cluster changes while its lists are read one after the other: only findings of both looks
      // are real.
      progress.update("Looking again");
      await sleep(settle);
      const second = await readSnapshot(flags, systemClock.now());
      return [second, confirmed(found, diagnose(second.snapshot, new Set(wanted)))];
    });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    process.exitCode = Math.max(notExamined, reportFailure(error, process.stderr, "dray doctor"));
    return;
  }
  await report(examined, diagnosis, wanted, flags);
}

async function report(
  { snapshot, source, isLive, notes, missing }: Examination,
  diagnosis: Diagnosis,
  wanted: readonly RuleId[],
  flags: DoctorFlags,
): Promise<void> {
  const { severity, output } = flags;
  const isWanted = objectFilter(flags, snapshot.world);
  const findings = diagnosis.findings.filter(
    (each) => (severity === "warning" || each.severity === severity) && isWanted(each.object),
  );
  const data: DoctorData = {
    source,
    kubernetesVersion: snapshot.features.version,
    objects: diagnosis.objects,
    findings,
    notJudged: diagnosis.notJudged,
    rights: rightsOf(doctorKinds, missing),
  };
  const isEmpty = !isLive && diagnosis.objects === 0;
  const isUnknown = isEmpty || isSilent(diagnosis, wanted);
  // One line says that nothing can be listed.
  const rights = isUnknown ? [] : missingRightLines(source, data.rights);
  for (const line of [...rights, ...notes]) remark(`warning: ${line}\n`);
  if (isUnknown) {
    const lists = missing.map(({ resource }) => resource);
    const reasons =
      lists.length > 0 ? [`no right to list ${lists.join(", ")}`] : diagnosis.notJudged.map(({ why }) => why);
    const why = isEmpty ? "there are no objects that it reads" : [...new Set(reasons)].join("; ");
    process.stderr.write(`error: ${source}: nothing can be judged: ${why}\n`);
  }
  if (missing.length > 0)
    remark(`note: \`dray doctor --rights\` prints the commands that grant what is missing\n`);
  if (findings.length > 0) process.exitCode = 1;
  if (isUnknown) {
    process.exitCode = notExamined;
    if (output === undefined) return;
  }
  if (output === "junit") process.stdout.write(junitText(data, wanted));
  else if (output !== undefined) await printData(data, output);
  else printText(doctorText(data));
}

/** Returns the test of `-n` and `-l`. Objects without a namespace belong to all of them. */
function objectFilter(
  { namespace, allNamespaces, selector }: DoctorFlags,
  world: World,
): (object: ObjectName) => boolean {
  const hasLabels = selector === undefined ? () => true : labelSelector("--selector", selector);
  const only = allNamespaces === true ? undefined : namespace;
  return (object) => {
    if (only !== undefined && object.namespace !== undefined && object.namespace !== only) return false;
    const found = world.objects.find(({ object: { kind, metadata } }) => {
      const isSame = kind === object.kind && metadata.name === object.name;
      return isSame && (metadata.namespace ?? "") === (object.namespace ?? "");
    });
    return hasLabels(found?.object.metadata.labels);
  };
}

/** Reports whether none of the rules is judged: that nothing is found says nothing then. */
function isSilent({ notJudged }: Diagnosis, wanted: readonly RuleId[]): boolean {
  const silent = new Set(notJudged.map(({ rule }) => rule));
  // A rule without needs has no objects then.
  const needing = wanted.filter((rule) => rules[rule].needs.length > 0);
  return needing.length > 0 && needing.every((rule) => silent.has(rule));
}

function wantedRules({ rule, skip, severity }: DoctorFlags): RuleId[] {
  const only = new Set(named("--rule", rule));
  const without = new Set(named("--skip", skip));
  return ruleIds.filter(
    (id) =>
      // Objects that rules leave out are named, whichever rules are chosen.
      (only.size === 0 || only.has(id) || id === "unreadable-object") &&
      !without.has(id) &&
      (severity === "warning" || rules[id].severity === severity),
  );
}

function named(flag: string, lists: readonly string[]): RuleId[] {
  return lists
    .flatMap((list) => list.split(","))
    .map((text) => {
      const id = ruleIds.find((one) => one === text.trim());
      if (id !== undefined) return id;
      const meant = didYouMean(text, ruleIds) ?? `must be one of ${ruleIds.join(", ")}`;
      throw new UsageError(`${flag} ${text}: no such rule: ${meant}`);
    });
}
