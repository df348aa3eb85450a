import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type LineCounts, onlyIn } from "./log-lines.ts";
import { peerVersion } from "./peers.ts";
import type { Outcome } from "./play.ts";
import type { Side } from "./server.ts";
import { rememberErrors, strangeErrors } from "./suites/component-errors.ts";
import { conformancePage, pageOf } from "./suites/conformance-page.ts";
import { type ConformanceSuite, isConformance } from "./suites/kinds.ts";
import type { KnownFailure, SuiteResult } from "./suites/report.ts";
import { type SuiteKind, suiteHeading, suiteSection } from "./suites/suite-section.ts";

/** All that a run on one side has brought. */
export interface SideResult {
  readonly side: Side;
  readonly outcomes: readonly Outcome[];
  readonly rounds: number;
  readonly seconds: number;
  /** By component. */
  readonly lines: ReadonlyMap<string, LineCounts>;
  /** Failures of the nodes. */
  readonly trouble: readonly string[];
}

const repository = join(import.meta.dirname, "..");
const reference = join(import.meta.dirname, "reference-lines.json");
const report = join(repository, "docs", "interop.md");
const pins = join(import.meta.dirname, "peers", "go.mod");

/**
 * Kinds of lines, by component, that runs on kube-apiserver have brought before: some races are seldom lost.
 */
export function knownLines(): ReadonlyMap<string, readonly string[]> {
  if (!existsSync(reference)) return new Map();
  return new Map(Object.entries(JSON.parse(readFileSync(reference, "utf8")) as Record<string, string[]>));
}

interface Strange {
  readonly component: string;
  readonly line: string;
  readonly count: number;
}

/** Lines that components have logged on Dray, and on kube-apiserver neither in this run nor before. */
function strange(results: readonly SideResult[], known: ReadonlyMap<string, readonly string[]>): Strange[] {
  const ours = results.find(({ side }) => side === "dray");
  const theirs = results.find(({ side }) => side === "peer");
  return [...(ours?.lines ?? [])].flatMap(([component, lines]) => {
    const before = (known.get(component) ?? []).map((line): [string, number] => [line, 1]);
    const expected = new Map([...before, ...(theirs?.lines.get(component) ?? [])]);
    return onlyIn(lines, expected).map(({ line, count }) => ({ component, line, count }));
  });
}

/** Returns the report of the run, and whether Dray (or kube-apiserver, if it ran alone) has passed. */
export function verdict(
  results: readonly SideResult[],
  known: ReadonlyMap<string, readonly string[]>,
): { readonly text: string; readonly passed: boolean } {
  const lines = strange(results, known);
  const failed = results.flatMap(({ side, outcomes }) =>
    outcomes.filter(({ failure }) => failure !== undefined).map(({ name }) => `${side}: ${name}`),
  );
  const trouble = results.flatMap((result) => result.trouble);
  const text = [
    ...results.map(({ side, outcomes, seconds }) => {
      const good = outcomes.filter(({ failure }) => failure === undefined).length;
      return `${side}: ${good} of ${outcomes.length} ended as they should, ${seconds.toFixed(0)} s`;
    }),
    ...lines.map(({ component, line, count }) => `only on dray: ${component}: ${count} x ${line}`),
  ].join("\n");
  return { text, passed: failed.length + lines.length + trouble.length === 0 };
}

/** Writes docs/interop.md, and adds what kube-apiserver has brought to the known lines. */
export function writeReport(results: readonly SideResult[]): void {
  const known = knownLines();
  const peer = results.find(({ side }) => side === "peer");
  const merged = new Map(known);
  for (const [component, lines] of peer?.lines ?? [])
    merged.set(component, [...new Set([...(known.get(component) ?? []), ...lines.keys()])].sort());
  writeFileSync(reference, `${JSON.stringify(Object.fromEntries(merged), null, 2)}\n`);
  if (!results.some(({ side }) => side === "dray")) return;
  writeSections({ scenarios: markdown(results, merged) });
}

/**
 * Writes the row of one run of upstream's DRA suite in docs/interop.md, or the column of one of its
 * Conformance suite.
 */
export function writeSuiteReport(
  kind: SuiteKind | ConformanceSuite,
  result: SuiteResult,
  known: readonly KnownFailure[],
): void {
  const kubernetes = /^\tk8s\.io\/kubernetes v(\S+)/m.exec(readFileSync(pins, "utf8"))?.[1] ?? "unknown";
  const header = { commit: commitText(), kubernetes, result, known };
  if (isConformance(kind)) {
    const found = result.errors ?? new Map();
    if (kind.endsWith("-peer")) rememberErrors(found);
    const page = join(repository, "docs", pageOf(kind).file);
    const earlier = existsSync(page) ? readFileSync(page, "utf8") : "";
    writeFileSync(page, conformancePage(earlier, { kind, ...header, strange: strangeErrors(found) }));
    return;
  }
  const run = { kind, ...header };
  const earlier = existsSync(report) ? (readFileSync(report, "utf8").split(suiteHeading)[1] ?? "") : "";
  writeSections({ suite: suiteSection(earlier, run) });
}

/** Replaces one part of docs/interop.md and keeps the other: each has a run of its own. */
function writeSections(parts: { readonly scenarios?: string; readonly suite?: string }): void {
  mkdirSync(dirname(report), { recursive: true });
  const old = existsSync(report) ? readFileSync(report, "utf8") : "";
  const [scenarios = "", suite] = old.split(suiteHeading);
  const kept = { scenarios, suite: suite === undefined ? "" : `${suiteHeading}${suite}` };
  const { scenarios: first, suite: second } = { ...kept, ...parts };
  writeFileSync(
    report,
    `${[first, second]
      .map((text) => text.trimEnd())
      .join("\n\n")
      .trim()}\n`,
  );
}

/** The commit that has run; what this run itself writes does not count as a change. */
function commitText(): string {
  const git = (...args: string[]): string =>
    spawnSync("git", args, { cwd: repository, encoding: "utf8" }).stdout.trim();
  const changed = git("status", "--porcelain", "--", "packages") === "" ? "" : "-dirty";
  return `${git("rev-parse", "--short", "HEAD")}${changed}`;
}

function markdown(results: readonly SideResult[], known: ReadonlyMap<string, readonly string[]>): string {
  const commit = commitText();
  const ours = results.find(({ side }) => side === "dray");
  const theirs = results.find(({ side }) => side === "peer");
  const cell = (outcome: Outcome | undefined): string =>
    outcome === undefined
      ? ""
      : `${outcome.failure === undefined ? "as expected" : "**fails**"}, ${outcome.seconds.toFixed(1)} s`;
  const rows = (ours?.outcomes ?? []).map((outcome) => {
    const other = theirs?.outcomes.find(({ name }) => name === outcome.name);
    return `| ${outcome.name} | ${cell(outcome)} | ${cell(other)} |`;
  });
  const lines = strange(results, known);
  const title = { dray: "Dray", peer: "kube-apiserver" };
  const rounds = results.map(
    ({ side, rounds, seconds }) =>
      `${title[side]}: ${rounds === 1 ? "one round" : `${rounds} rounds`} in ${seconds.toFixed(0)} s`,
  );
  const count = (result: SideResult | undefined, component: string): number =>
    [...(result?.lines.get(component)?.values() ?? [])].reduce((sum, count) => sum + count, 0);
  return `# Interoperation with the real Kubernetes components

Written by \`npm run interop -- --write\` (see \`interop/README.md\`). Dray's API server at commit ${commit}, beside
kube-apiserver ${peerVersion("kube-apiserver")} on etcd ${peerVersion("etcd")}; on both run kube-controller-manager ${peerVersion("kube-controller-manager")},
kube-scheduler ${peerVersion("kube-scheduler")}, hollow nodes, and a node agent for the clients (${rounds.join("; ")}).

| scenario | Dray | kube-apiserver |
| --- | --- | --- |
${rows.join("\n")}

## What the components log

Lines of errors, warnings, and lines with \`err=\`, without names, times and numbers.

| component | lines on Dray | lines on kube-apiserver | kinds only on Dray |
| --- | ---: | ---: | ---: |
${[...(ours?.lines.keys() ?? [])]
  .map((component) => {
    const kinds = lines.filter((line) => line.component === component).length;
    return `| ${component} | ${count(ours, component)} | ${count(theirs, component)} | ${kinds} |`;
  })
  .join("\n")}
${lines.map(({ component, line, count }) => `\n- ${component}, ${count} times: \`${line}\``).join("")}
`;
}
