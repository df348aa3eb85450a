import { byteLength, type Features } from "@dray/api";
import { type CompileFailure, costLimit, deviceEnvironment, type Selector } from "@dray/cel";
import { systemClock, timeText } from "@dray/client";
import { columns } from "../columns.ts";
import { readSources } from "../manifests/files.ts";
import { problemTexts } from "../manifests/problem.ts";
import { readObjects } from "../manifests/read.ts";
import { Selectors } from "../manifests/selectors.ts";
import { featuresOption } from "../options.ts";
import { printData } from "../output.ts";
import { remark } from "../verbosity.ts";

export interface CelFlags {
  readonly new?: boolean;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
  readonly output?: "json" | "yaml";
}

export interface CelEvalFlags extends CelFlags {
  readonly filename: readonly string[];
  readonly recursive?: boolean;
}

/** Longest expression that the API server takes, in bytes (resource.k8s.io CELSelectorExpressionMaxLength). */
const longest = 10 * 1024;

/** More devices than that are not all listed. */
const mostDevices = 100;
/** Of many devices, so many with the same answer are. */
const mostAlike = 10;

/** What one expression is, or why it is none. */
type Verdict =
  | { readonly selector: Selector; readonly warnings: readonly string[] }
  | { readonly selector?: undefined; readonly error: string; readonly hints: readonly string[] };

function judge(expression: string, features: Features, fresh: boolean): Verdict {
  const bytes = byteLength(expression);
  if (bytes > longest)
    return { error: `too long: it has ${bytes} bytes, and may have no more than ${longest}`, hints: [] };
  const environment = deviceEnvironment({
    stored: !fresh,
    features: {
      consumableCapacity: features.enabled("DRAConsumableCapacity"),
      listTypeAttributes: features.enabled("DRAListTypeAttributes"),
    },
  });
  const selector:
    | (Selector & { warnings?: readonly string[] })
    | (CompileFailure & { hints?: readonly string[] }) = environment.compile(expression);
  if (!selector.ok) return { error: selector.error, hints: selector.hints ?? [] };
  if (selector.maxCost <= costLimit) return { selector, warnings: selector.warnings ?? [] };
  const error = `too complex: its estimated cost is ${selector.maxCost}, and may be no more than ${costLimit}`;
  return { error, hints: selector.warnings ?? [] };
}

/** Says what is wrong with an expression; the exit code is 1. */
async function refuse(
  expression: string,
  { error, hints }: Verdict & { readonly selector?: undefined },
  output: CelFlags["output"],
): Promise<void> {
  process.exitCode = 1;
  if (output !== undefined) return printData({ expression, valid: false, error, hints }, output);
  process.stderr.write(`error: ${error}\n`);
  for (const hint of hints) process.stderr.write(`hint: ${hint}\n`);
}

/** Checks a device selector as the API server does, and tells its type and cost. */
export async function celCheck(expression: string, flags: CelFlags): Promise<void> {
  const verdict = judge(expression, featuresOption(flags), flags.new === true);
  if (verdict.selector === undefined) return refuse(expression, verdict, flags.output);
  const { selector, warnings } = verdict;
  const { type, maxCost, reads } = selector;
  if (flags.output !== undefined)
    return printData({ expression, valid: true, type, maxCost, costLimit, reads, warnings }, flags.output);
  for (const warning of warnings) remark(`warning: ${warning}\n`);
  process.stdout.write(
    columns([
      ["type", type],
      ["cost", `${maxCost} at most, of ${costLimit}`],
      ["reads", readsText(reads)],
    ]),
  );
}

function readsText({ driver, allowMultipleAllocations, attributes, capacity }: Selector["reads"]): string {
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

/** What a selector says of a device. */
interface Answer {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly matches: boolean | null;
  readonly error: string | null;
  readonly cost: number;
}

/** All devices or, of very many, the first of each answer and how many more there are. */
function rowsOf(devices: readonly Answer[]): string[][] {
  const groups =
    devices.length <= mostDevices
      ? devices.map((device) => [device])
      : Map.groupBy(devices, ({ matches, error }) => `${matches} ${error}`).values();
  return [...groups].flatMap((members) => {
    const rows = members
      .slice(0, mostAlike)
      .map(({ driver, pool, device, matches, error, cost }) => [
        `${driver}/${pool}/${device}`,
        error === null ? (matches === true ? "yes" : "no") : "error",
        String(cost),
        error ?? "",
      ]);
    const rest = members.length - mostAlike;
    return rest > 0 ? [...rows, [`... and ${rest} more`, rows[0]![1]!, "", ""]] : rows;
  });
}

/** Asks a device selector about the devices of ResourceSlices. The exit code is 1 if one of them makes it fail. */
export async function celEval(expression: string, flags: CelEvalFlags): Promise<void> {
  const features = featuresOption(flags);
  const verdict = judge(expression, features, flags.new === true);
  if (verdict.selector === undefined) return refuse(expression, verdict, flags.output);
  const { selector, warnings } = verdict;
  const { world, problems, notes } = readObjects(await readSources(flags.filename, flags.recursive), {
    features,
    namespace: "default",
    selectors: new Selectors(features),
    now: timeText(systemClock.now()),
  });
  for (const text of problemTexts(problems)) process.stderr.write(`error: ${text}\n`);
  const slices = world.all("ResourceSlice").map(({ object }) => object);
  if (slices.length === 0) throw new Error("there is no ResourceSlice in what -f names");
  const devices = slices.flatMap(({ metadata, spec }) =>
    (spec.devices ?? []).map((device) => {
      const { matches = null, error = null, cost } = selector.evaluate({ ...device, driver: spec.driver });
      const { driver, pool } = spec;
      return { driver, pool: pool.name, device: device.name, slice: metadata.name, matches, error, cost };
    }),
  );
  const failed = devices.filter(({ error }) => error !== null).length;
  const matched = devices.filter(({ matches }) => matches === true).length;
  const summary = { devices: devices.length, matched, failed };
  if (failed + problems.length > 0) process.exitCode = 1;
  if (flags.output !== undefined)
    return printData({ expression, type: selector.type, devices, summary, warnings }, flags.output);
  for (const note of notes) remark(`note: ${note}\n`);
  for (const warning of warnings) remark(`warning: ${warning}\n`);
  process.stdout.write(columns([["DEVICE", "MATCHES", "COST", "ERROR"], ...rowsOf(devices)]));
  const errors =
    failed === 0 ? "" : `, ${failed} in error: a claim with this selector would not be allocated`;
  process.stdout.write(`\n${matched} of ${devices.length} devices match${errors}\n`);
}
