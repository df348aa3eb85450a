/**
 * Pages about Conformance: what became of each spec, one column for each kind of cluster, each from a run of
 * its own. docs/conformance.md has those of control planes, docs/node-conformance.md those of nodes.
 */

import type { StrangeError } from "./component-errors.ts";
import type { ConformanceSuite } from "./kinds.ts";
import type { KnownFailure, SuiteResult } from "./report.ts";

export interface ConformanceRun {
  readonly kind: ConformanceSuite;
  readonly commit: string;
  /** Release of the suite, and of the real components that ran: `1.37.1`. */
  readonly kubernetes: string;
  readonly result: SuiteResult;
  readonly known: readonly KnownFailure[];
  /** Errors in the logs of the real components that runs on kube-apiserver have not brought. */
  readonly strange: readonly StrangeError[];
}

interface Page {
  /** In docs/. */
  readonly file: string;
  readonly introduction: string;
  /** By run, in the order of the columns. */
  readonly titles: Readonly<Partial<Record<ConformanceSuite, string>>>;
}

const controlPlanes: Page = {
  file: "conformance.md",
  introduction: `# Conformance

All of Kubernetes' Conformance specs on two nodes with kubelet, containerd, kube-proxy and coredns, eight at a time, those that
must run alone at the end: on Dray's API server with the real kube-controller-manager and kube-scheduler, on Dray's API server,
scheduler and controllers, and on kube-apiserver with etcd (whose memory counts with it). Each column is written by \`npm run
interop -- NAME --write\`, as root on a machine with two cores. Of the nodes: [node-conformance.md](node-conformance.md).`,
  titles: {
    conformance: "Dray's API server",
    "conformance-dray": "Dray's control plane",
    "conformance-peer": "Kubernetes",
  },
};

const nodes: Page = {
  file: "node-conformance.md",
  introduction: `# Conformance of nodes

The specs that Kubernetes labels NodeConformance, on two nodes of \`dray up --runtime oci\`, and on two with kubelet, containerd
and kube-proxy below kube-apiserver, eight at a time, those that must run alone at the end. Each column is written by \`npm run
interop -- NAME --write\`, as root on a machine with two cores. Of the control plane: [conformance.md](conformance.md).`,
  titles: { "node-conformance": "Dray", "node-conformance-peer": "Kubernetes" },
};

/** The page that a run has its column in. */
export const pageOf = (kind: ConformanceSuite): Page => (kind in nodes.titles ? nodes : controlPlanes);

/** A cell by the name of the spec. */
type Column = ReadonlyMap<string, string>;

/** Replaces what an earlier page says of this kind of cluster, and keeps the rest. */
export function conformancePage(earlier: string, run: ConformanceRun): string {
  const { introduction, titles } = pageOf(run.kind);
  const kinds = Object.keys(titles) as ConformanceSuite[];
  const lines = earlier.split("\n");
  const columns = kinds.map((kind, i) => (kind === run.kind ? columnOf(run) : keptColumn(lines, i)));
  const summaries = kinds.flatMap((kind) =>
    kind === run.kind ? [summaryOf(run)] : lines.filter((line) => line.startsWith(`| \`${kind}\``)),
  );
  const reasons = reasonLines(kinds, [
    ...keptReasons(lines).filter(({ kind }) => kind !== run.kind),
    ...reasonsOf(run),
  ]);
  const strange = kinds.flatMap((kind) =>
    kind === run.kind ? strangeOf(run) : lines.filter((line) => line.startsWith(`* \`${kind}\``)),
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
## Errors in the logs of the real components

Kinds that no run on kube-apiserver has brought (\`interop/conformance-errors.json\` has those), without names and numbers.

${strange.length === 0 ? "None." : strange.join("\n")}

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
  const results = [passed, failed, `${seconds.toFixed(0)} s`, memory > 0 ? `${memory.toFixed(0)} MiB` : ""];
  return `| ${[`\`${kind}\``, pageOf(kind).titles[kind], commit, kubernetes, ...results].join(" | ")} |`;
}

/** Why a spec failed in one kind of cluster: `SPEC: CAUSE: REASON`. */
interface Reason {
  readonly kind: string;
  readonly text: string;
}

function reasonsOf({ kind, result: { specs }, known }: ConformanceRun): Reason[] {
  const reasons = new Map(known.map((failure) => [failure.spec, failure]));
  return specs.flatMap(({ name, failure }) => {
    if (failure === undefined) return [];
    const { cause, reason } = reasons.get(name) ?? { cause: "dray", reason: failure };
    return [{ kind, text: `${name}: ${cause}: ${shortened(reason.replaceAll("\n", " "))}` }];
  });
}

const reasonLine = /^- (`[^`]+`(?:, `[^`]+`)*): (.*)$/;

function keptReasons(lines: readonly string[]): Reason[] {
  return lines.flatMap((line) => {
    const [, kinds = "", text = ""] = reasonLine.exec(line) ?? [];
    return [...kinds.matchAll(/`([^`]+)`/g)].map(([, kind = ""]) => ({ kind, text }));
  });
}

/** A line for each reason, with the kinds of clusters that it holds for in the order of the columns. */
function reasonLines(order: readonly string[], reasons: readonly Reason[]): string[] {
  const kinds = Map.groupBy(reasons, ({ text }) => text);
  return [...kinds].sort().map(([text, found]) => {
    const names = order.filter((kind) => found.some((reason) => reason.kind === kind));
    return `- ${names.map((name) => `\`${name}\``).join(", ")}: ${text}`;
  });
}

function strangeOf({ kind, strange }: ConformanceRun): string[] {
  return strange.map(
    ({ component, line, count }) => `* \`${kind}\`: ${component}, ${count} times: \`${line}\``,
  );
}

/** A failure may have a whole pod in it. */
const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);
