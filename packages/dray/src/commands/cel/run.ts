import { type Features, parseFeatureGates } from "@dray/api";
import { costLimit, type Reads } from "@dray/cel";
import { systemClock, timeText } from "@dray/client";
import { checkSelector, type Rejected } from "../../cel/check-device-expression.ts";
import { checkExpressions } from "../../cel/check-expressions.ts";
import { expressionsOf } from "../../cel/expressions.ts";
import { readAllDrafts } from "../../manifests/documents.ts";
import { readSources } from "../../manifests/files.ts";
import { positionOf, positionText } from "../../manifests/place.ts";
import { problemTexts } from "../../manifests/problem.ts";
import { inOrder, readObjects } from "../../manifests/read.ts";
import { Selectors } from "../../manifests/selectors.ts";
import { featuresOption } from "../../options/values.ts";
import { UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { printText, tableFormat } from "../../terminal/print-text.ts";
import { type Progress, withProgress } from "../../terminal/progress.ts";
import { remark, say } from "../../terminal/verbosity.ts";
import { facts, table } from "../../text/table.ts";
import { counted } from "../../text/words.ts";

export interface CelFlags {
  readonly new?: boolean;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
  readonly output?: "json" | "yaml";
}

interface FileFlags {
  readonly filename: readonly string[];
  readonly recursive?: boolean;
}

export type CelCheckFlags = CelFlags & FileFlags;
export type CelEvalFlags = CelFlags & FileFlags;

/** Maximum number of devices that are all listed. */
const maxDevices = 100;
/** Maximum number of listed devices with the same result, if there are many devices. */
const maxAlike = 10;

const wraps = true;
const checkColumns = [
  ...[
    { title: "WHERE", wraps },
    { title: "OBJECT", wraps },
    { title: "PATH", wraps },
  ],
  ...["RESULT", "COST"],
];
const deviceColumns = [{ title: "DEVICE", wraps }, "MATCHES", "COST", { title: "ERROR", wraps }];

/** Prints the errors of an expression; the exit code is 1. */
async function refuse(
  expression: string,
  { error, hints }: Rejected,
  output: CelFlags["output"],
): Promise<void> {
  process.exitCode = 1;
  if (output !== undefined) return printData({ expression, valid: false, error, hints }, output);
  process.stderr.write(`error: ${error}\n`);
  for (const hint of hints) process.stderr.write(`hint: ${hint}\n`);
}

/**
 * Checks a device selector, or all expressions in manifests, as the API server does; prints types and costs.
 */
export async function celCheck(expression: string | undefined, flags: CelCheckFlags): Promise<void> {
  const features = featuresOption(flags);
  if (flags.filename.length > 0) {
    if (expression !== undefined) throw new UsageError("give an expression or manifests with -f, not both");
    return withProgress("Reading the manifests", (progress) => checkFiles(flags, features, progress));
  }
  if (expression === undefined) throw new UsageError("give an expression, or manifests with -f");
  const verdict = checkSelector(expression, features, flags.new === true);
  if (!verdict.valid) return refuse(expression, verdict, flags.output);
  const { type, maxCost, reads, warnings } = verdict;
  if (flags.output !== undefined)
    return printData({ expression, valid: true, type, maxCost, costLimit, reads, warnings }, flags.output);
  for (const warning of warnings) remark(`warning: ${warning}\n`);
  process.stdout.write(
    facts(
      [
        ["type", type],
        ["cost", `${maxCost} at most, of ${costLimit}`],
        ["reads", readsText(reads)],
      ],
      tableFormat({}),
    ),
  );
}

/** Prints a row for each expression of the manifests, then the errors. */
async function checkFiles(flags: CelCheckFlags, features: Features, progress: Progress): Promise<void> {
  const { sources, problems: unreadable } = await readSources(flags.filename, flags.recursive);
  const read = readAllDrafts(sources, progress);
  const problems = [...unreadable, ...read.flatMap(({ problems }) => problems)];
  const expressions = read.flatMap(({ drafts }) =>
    drafts.flatMap((draft) => expressionsOf(draft, "default")),
  );
  const rules = {
    kubernetesVersion: features.version,
    featureGates: parseFeatureGates(flags.featureGates ?? ""),
  };
  const judged = await checkExpressions(
    expressions,
    { features, rules, isFresh: ({ fresh }) => flags.new === true || fresh },
    (done) => progress.update(`Checking expressions: ${done} of ${expressions.length}`),
  );
  progress.stop();
  const placed = judged.map(({ found: { draft, object, path, kind, expression }, verdict }) => ({
    ...positionOf(draft.place, path),
    ...{ object, path, kind, expression, verdict },
  }));
  const files = sources.map(({ file }) => file);
  const checked = inOrder(placed, files).map(({ verdict, ...data }) => ({ verdict, data }));
  const count = (valid: boolean | null): number =>
    checked.filter(({ verdict }) => verdict.valid === valid).length;
  const summary = { expressions: checked.length, wrong: count(false), unchecked: count(null) };
  const blamed = checked.some(({ verdict }) => verdict.valid === null && verdict.wrong);
  if (summary.wrong + problems.length > 0 || blamed) process.exitCode = 1;
  if (flags.output !== undefined) {
    const expressions = checked.map(({ verdict, data }) => {
      if (!verdict.valid) return { ...data, ...verdict };
      if (!("maxCost" in verdict)) return { ...data, ...verdict };
      return { ...data, ...verdict, costLimit };
    });
    return printData({ expressions, errors: problems, summary }, flags.output);
  }
  for (const text of problemTexts(problems)) process.stderr.write(`error: ${text}\n`);
  const rows = checked.map(({ verdict, data }) => [
    data.line === undefined ? data.file : `${data.file}:${data.line}`,
    data.object,
    data.path,
    verdict.valid === null ? "not checked" : verdict.valid ? "ok" : "error",
    "maxCost" in verdict ? String(verdict.maxCost) : "-",
  ]);
  if (rows.length > 0) process.stdout.write(`${table(checkColumns, rows, tableFormat({}))}\n`);
  for (const { verdict, data } of checked) {
    const at = `${positionText(data)}: ${data.object}: ${data.path}`;
    if (verdict.valid === false) {
      process.stderr.write(`error: ${at}: ${verdict.error}\n`);
      for (const hint of verdict.hints) process.stderr.write(`  hint: ${hint}\n`);
    } else if (verdict.valid === null) {
      const text = `${at}: not checked: ${verdict.error}\n`;
      if (verdict.wrong) process.stderr.write(`error: ${text}`);
      else remark(`note: ${text}`);
    } else for (const warning of verdict.warnings) remark(`warning: ${at}: ${warning}\n`);
  }
  const { wrong, unchecked } = summary;
  const parts = [
    counted(checked.length, "expression"),
    ...(wrong === 0 ? [] : [`${wrong} ${wrong === 1 ? "is" : "are"} wrong`]),
    ...(unchecked === 0 ? [] : [`${unchecked} not checked`]),
  ];
  say(`${parts.join(", ")}\n`);
}

function readsText({ driver, allowMultipleAllocations, attributes, capacity }: Reads): string {
  const names = (list: typeof attributes, what: string): string[] =>
    list === "all" ? [`all ${what}`] : list.map(([domain, id]) => `${what} ${domain}/${id}`);
  const parts = [
    ...(driver ? ["driver"] : []),
    ...names(attributes, "attributes"),
    ...names(capacity, "capacity"),
    ...(allowMultipleAllocations ? ["allowMultipleAllocations"] : []),
  ];
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

/** The result of a selector for a device. */
interface Answer {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly matches: boolean | null;
  readonly error: string | null;
  readonly cost: number;
}

/** Returns all devices or, of many, the first ones with each result and the number of the others. */
function rowsOf(devices: readonly Answer[]): string[][] {
  const groups =
    devices.length <= maxDevices
      ? devices.map((device) => [device])
      : Map.groupBy(devices, ({ matches, error }) => `${matches} ${error}`).values();
  return [...groups].flatMap((members) => {
    const rows = members
      .slice(0, maxAlike)
      .map(({ driver, pool, device, matches, error, cost }) => [
        `${driver}/${pool}/${device}`,
        error === null ? (matches === true ? "yes" : "no") : "error",
        String(cost),
        error ?? "",
      ]);
    const rest = members.length - maxAlike;
    return rest > 0 ? [...rows, [`... and ${rest} more`, rows[0]![1]!, "", ""]] : rows;
  });
}

/**
 * Evaluates a device selector for the devices of ResourceSlices. The exit code is 1 if it fails for one of
 * them.
 */
export function celEval(expression: string, flags: CelEvalFlags): Promise<void> {
  return withProgress("Reading the ResourceSlices", (progress) => evaluate(expression, flags, progress));
}

async function evaluate(expression: string, flags: CelEvalFlags, progress: Progress): Promise<void> {
  const features = featuresOption(flags);
  const verdict = checkSelector(expression, features, flags.new === true);
  if (!verdict.valid) return refuse(expression, verdict, flags.output);
  const { warnings, selector } = verdict;
  const { world, problems, notes } = readObjects(await readSources(flags.filename, flags.recursive), {
    features,
    namespace: "default",
    selectors: new Selectors(features),
    now: timeText(systemClock.now()),
    progress,
  });
  const slices = world.all("ResourceSlice").map(({ object }) => object);
  if (slices.length === 0) {
    progress.stop();
    for (const text of problemTexts(problems)) process.stderr.write(`error: ${text}\n`);
    throw new Error("-f names no ResourceSlice");
  }
  const devices = slices.flatMap(({ metadata, spec }, i) =>
    (spec.devices ?? []).map((device) => {
      progress.update(`Asking the devices of ResourceSlices: ${i} of ${slices.length}`);
      const { matches = null, error = null, cost } = selector.evaluate({ ...device, driver: spec.driver });
      const { driver, pool } = spec;
      return { driver, pool: pool.name, device: device.name, slice: metadata.name, matches, error, cost };
    }),
  );
  progress.stop();
  for (const text of problemTexts(problems)) process.stderr.write(`error: ${text}\n`);
  const failed = devices.filter(({ error }) => error !== null).length;
  const matched = devices.filter(({ matches }) => matches === true).length;
  const summary = { devices: devices.length, matched, failed };
  if (failed + problems.length > 0) process.exitCode = 1;
  if (flags.output !== undefined)
    return printData({ expression, type: selector.type, devices, summary, warnings }, flags.output);
  for (const note of notes) remark(`note: ${note}\n`);
  for (const warning of warnings) remark(`warning: ${warning}\n`);
  process.stdout.write(table(deviceColumns, rowsOf(devices), tableFormat({})));
  const errors =
    failed === 0 ? "" : `, ${failed} in error: a claim with this selector would not be allocated`;
  printText(`\n${matched} of ${devices.length} devices match${errors}\n`);
}
