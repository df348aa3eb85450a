/** The result of upstream's suite, compared with the list of specs that are known to fail. */
import { parse } from "yaml";
import type { ComponentErrors } from "./component-errors.ts";

/** A spec that was run. */
export interface SpecResult {
  readonly name: string;
  /** Undefined if it has passed. */
  readonly failure?: string;
  readonly seconds: number;
}

export interface SuiteResult {
  readonly specs: readonly SpecResult[];
  /** Specs that the suite itself left out, with its reason. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly seconds: number;
  /** Errors in the logs of the real components. */
  readonly errors?: ComponentErrors;
  /** Resident MiB of the API server, with its etcd, at the end. */
  readonly memory?: number;
}

/** Fields of the report that ginkgo writes. https://pkg.go.dev/github.com/onsi/ginkgo/v2/types#SpecReport */
interface SpecReport {
  readonly ContainerHierarchyTexts?: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  /** Nanoseconds. */
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
}

/** Reads ginkgo's JSON report. Steps before and after all specs are in it only if they failed. */
export function readReport(json: string): Omit<SuiteResult, "seconds"> {
  const suites = JSON.parse(json) as readonly { readonly SpecReports?: readonly SpecReport[] | null }[];
  const specs: SpecResult[] = [];
  const skipped: { name: string; reason: string }[] = [];
  for (const report of suites.flatMap(({ SpecReports }) => SpecReports ?? [])) {
    const { ContainerHierarchyTexts, LeafNodeType, LeafNodeText, State, RunTime, Failure } = report;
    const isSpec = LeafNodeType === "It";
    const texts = isSpec ? [...(ContainerHierarchyTexts ?? []), LeafNodeText] : [LeafNodeType, LeafNodeText];
    const name = texts.join(" ").trim();
    const message = (Failure?.Message ?? "").replaceAll(/\s+/g, " ").trim();
    const seconds = RunTime / 1e9;
    if (State === "passed") {
      if (isSpec) specs.push({ name, seconds });
    } else if (State === "skipped" || State === "pending") {
      // A spec that the filter left out has no message.
      if (isSpec && message !== "") skipped.push({ name, reason: message });
    } else specs.push({ name, seconds, failure: message === "" ? State : message });
  }
  return { specs, skipped };
}

/** A spec that is known to fail. */
export interface KnownFailure {
  readonly spec: string;
  /** Whether something is missing in Dray, or the machine or the harness cannot do it. */
  readonly cause: "dray" | "environment";
  readonly reason: string;
}

/** Reads `dra-expected-failures.yaml`. Throws an error that names the entry that is wrong. */
export function readKnownFailures(text: string): KnownFailure[] {
  const entries: unknown = parse(text) ?? [];
  if (!Array.isArray(entries)) throw new Error("must be a list of {spec, cause, reason}");
  return entries.map((entry: Partial<Record<string, unknown>> | null, index) => {
    const { spec, cause, reason } = entry ?? {};
    if (typeof spec !== "string") throw new Error(`[${index}].spec: must be the name of a spec`);
    if (cause !== "dray" && cause !== "environment")
      throw new Error(`[${index}].cause: ${JSON.stringify(cause)}: must be dray or environment`);
    if (typeof reason !== "string" || reason === "") throw new Error(`[${index}].reason: must say why`);
    return { spec, cause, reason };
  });
}

/**
 * One sentence for each deviation from the list of known failures; none if the result is as expected. The
 * list may only shrink: a listed spec that passes is as wrong as one that fails and is not listed. With
 * `partial` specs may be listed that were not run.
 */
export function complaints(
  { specs }: Pick<SuiteResult, "specs">,
  known: readonly KnownFailure[],
  partial: boolean,
): string[] {
  const listed = new Set(known.map(({ spec }) => spec));
  const run = new Set(specs.map(({ name }) => name));
  return [
    ...specs.flatMap(({ name, failure }) => {
      if (failure !== undefined && !listed.has(name))
        return [`failed, and is not listed: ${name}: ${failure}`];
      if (failure === undefined && listed.has(name)) return [`passed: take it out of the list: ${name}`];
      return [];
    }),
    ...(partial
      ? []
      : [...listed]
          .filter((spec) => !run.has(spec))
          .map((spec) => `was not run: take it out of the list: ${spec}`)),
  ];
}

/** One line for the terminal. */
export function summary({ specs, skipped, seconds }: SuiteResult, known: readonly KnownFailure[]): string {
  const failed = specs.filter(({ failure }) => failure !== undefined).length;
  const left = skipped.length === 0 ? "" : `, ${skipped.length} left out by the suite`;
  return `${specs.length - failed} of ${specs.length} specs passed, ${failed} failed, ${known.length} are listed to fail${left}, ${seconds.toFixed(0)} s`;
}
