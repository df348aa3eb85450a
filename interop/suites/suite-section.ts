/**
 * The section of docs/interop.md about upstream's suite: one row for each kind of nodes, each from a run of
 * its own.
 */

import type { DraSuite } from "./kinds.ts";
import type { KnownFailure, SuiteResult } from "./report.ts";

export type SuiteKind = DraSuite | "dra-node";

export interface SuiteRun {
  readonly kind: SuiteKind;
  readonly commit: string;
  /** Release of the suite, and of the real components that ran: `1.37.1`. */
  readonly kubernetes: string;
  readonly result: SuiteResult;
  readonly known: readonly KnownFailure[];
}

export const suiteHeading = "## Upstream's end-to-end suite for DRA";

/** In the order of the table. */
const nodesOf: Readonly<Record<SuiteKind, string>> = {
  dra: "kubelet, containerd",
  "dra-oci": "`dray up --runtime oci`",
  "dra-cri": "`dray kubelet --runtime cri`, containerd",
  "dra-node": "`dray kubelet --runtime oci`",
};

const introduction = `Specs of Kubernetes that are about DRA, with all gates that they need (interop/release.ts), on three nodes, with Dray's API
server, scheduler and controllers; and the specs of a kubelet's DRA (\`test/e2e_node/dra_test.go\`) on one node
(\`dra-node\`). Each row is written by \`npm run interop -- NAME --write\`. Known failures are listed with their reason in
\`interop/dra*-expected-failures.yaml\`.`;

/** Replaces what an earlier section says of this kind of nodes; keeps the other rows. */
export function suiteSection(earlier: string, run: SuiteRun): string {
  const lines = earlier.split("\n");
  const kinds = Object.keys(nodesOf) as SuiteKind[];
  const kept = (prefix: string, kind: SuiteKind): string[] =>
    lines.filter((line) => line.startsWith(`${prefix} \`${kind}\``));
  const rows = kinds.flatMap((kind) => (kind === run.kind ? [row(run)] : kept("|", kind)));
  const differences = kinds.flatMap((kind) => (kind === run.kind ? differencesOf(run) : kept("-", kind)));
  return `${suiteHeading}

${introduction}

| \`npm run interop --\` | commit | suite | nodes | passed | failed | left out by the suite | duration |
| --- | --- | --- | --- | ---: | ---: | ---: | ---: |
${rows.join("\n")}
${differences.length === 0 ? "\nNo spec fails, and none is left out.\n" : `\n${differences.join("\n")}\n`}`;
}

function row({ kind, commit, kubernetes, result: { specs, skipped, seconds } }: SuiteRun): string {
  const failed = specs.filter(({ failure }) => failure !== undefined).length;
  const cells = [
    `\`${kind}\``,
    commit,
    kubernetes,
    nodesOf[kind],
    `${specs.length - failed} of ${specs.length}`,
    failed,
    skipped.length,
    `${seconds.toFixed(0)} s`,
  ];
  return `| ${cells.join(" | ")} |`;
}

function differencesOf({ kind, result: { specs, skipped }, known }: SuiteRun): string[] {
  const reasons = new Map(known.map((failure) => [failure.spec, failure]));
  return [
    ...specs.flatMap(({ name, failure }) => {
      if (failure === undefined) return [];
      const { cause, reason } = reasons.get(name) ?? { cause: "dray", reason: failure };
      return [`${name}: fails (${cause}): ${reason}`];
    }),
    ...skipped.map(({ name, reason }) => `${name}: left out by the suite: ${reason}`),
  ].map((text) => `- \`${kind}\`: ${text.replaceAll("\n", " ")}`);
}
