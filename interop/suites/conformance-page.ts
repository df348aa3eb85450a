/** docs/conformance.md: what became of each Conformance spec, one column for each kind of cluster, each from a run of its own. */

import type { ConformanceSuite } from "./kinds.ts";
import type { KnownFailure, SuiteResult } from "./report.ts";

export interface ConformanceRun {
  readonly kind: ConformanceSuite;
  readonly commit: string;
  /** Release of the suite, and of the real components that ran: `1.37.1`. */
  readonly kubernetes: string;
  readonly result: SuiteResult;
  readonly known: readonly KnownFailure[];
}

/** In the order of the columns. */
const titles: Readonly<Record<ConformanceSuite, string>> = {
  conformance: "Dray's API server",
  "conformance-dray": "Dray's control plane",
  "conformance-peer": "Kubernetes",
};
const kinds = Object.keys(titles) as ConformanceSuite[];

const introduction = `# Conformance

Kubernetes' Conformance specs that need not run alone, on two nodes with kubelet, containerd, kube-proxy and coredns, eight at
a time: on Dray's API server with the real kube-controller-manager and kube-scheduler, on Dray's API server, scheduler and
controllers, and on kube-apiserver with etcd (whose memory counts with it). Each column is written by \`npm run interop --
NAME --write\`, as root on a machine with two cores.`;

/** A cell by the name of the spec. */
type Column = ReadonlyMap<string, string>;

/** Replaces what an earlier page says of this kind of cluster, and keeps the rest. */
export function conformancePage(earlier: string, run: ConformanceRun): string {
  const lines = earlier.split("\n");
  const columns = kinds.map((kind, i) => (kind === run.kind ? columnOf(run) : keptColumn(lines, i)));
  const summaries = kinds.flatMap((kind) =>
    kind === run.kind ? [summaryOf(run)] : lines.filter((line) => line.startsWith(`| \`${kind}\``)),
  );
  const reasons = kinds.flatMap((kind) =>
    kind === run.kind ? reasonsOf(run) : lines.filter((line) => line.startsWith(`- \`${kind}\``)),
  );
  const names = [...new Set(columns.flatMap((column) => [...column.keys()]))].sort();
  const rows = names.map(
    (name) => `| ${[name, ...columns.map((column) => column.get(name) ?? "")].join(" | ")} |`,
  );
  return `${introduction}

| \`npm run interop --\` | control plane | commit | suite | passed | failed | duration | API server at the end |
| --- | --- | --- | --- | ---: | ---: | ---: | ---: |
${summaries.join("\n")}
${reasons.length === 0 ? "" : `\n${reasons.join("\n")}\n`}
## Specs

Seconds of each; **failed** where it has not passed.

| spec | ${kinds.map((kind) => titles[kind]).join(" | ")} |
| --- |${" ---: |".repeat(kinds.length)}
${rows.join("\n")}
`;
}

const nameIn = (name: string): string => name.replaceAll("|", "\\|").replaceAll("\n", " ");

function columnOf({ result: { specs } }: ConformanceRun): Column {
  return new Map(
    specs.map(({ name, seconds, failure }) => [
      nameIn(name),
      `${failure === undefined ? "" : "**failed** "}${seconds.toFixed(1)}`,
    ]),
  );
}

function keptColumn(lines: readonly string[], index: number): Column {
  const rows = lines.slice(lines.indexOf("## Specs") + 1).filter((line) => line.startsWith("| ["));
  const cells = rows.map((row) => row.slice(2, -2).split(/(?<!\\) \| /));
  return new Map(
    cells.flatMap((row): [string, string][] =>
      row[index + 1]?.trim() ? [[row[0]!, row[index + 1]!.trim()]] : [],
    ),
  );
}

function summaryOf({ kind, commit, kubernetes, result }: ConformanceRun): string {
  const { specs, seconds, memory = 0 } = result;
  const failed = specs.filter(({ failure }) => failure !== undefined).length;
  const passed = `${specs.length - failed} of ${specs.length}`;
  const told = [passed, failed, `${seconds.toFixed(0)} s`, memory > 0 ? `${memory.toFixed(0)} MiB` : ""];
  return `| ${[`\`${kind}\``, titles[kind], commit, kubernetes, ...told].join(" | ")} |`;
}

function reasonsOf({ kind, result: { specs }, known }: ConformanceRun): string[] {
  const reasons = new Map(known.map((failure) => [failure.spec, failure]));
  return specs.flatMap(({ name, failure }) => {
    if (failure === undefined) return [];
    const { cause, reason } = reasons.get(name) ?? { cause: "dray", reason: failure };
    return [`- \`${kind}\`: ${name}: ${cause}: ${shortened(reason.replaceAll("\n", " "))}`];
  });
}

/** A failure may have a whole pod in it. */
const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);
