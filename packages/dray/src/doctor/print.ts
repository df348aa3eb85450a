import type { Rights } from "../observe/rights.ts";
import { counted } from "../text/words.ts";
import type { Diagnosis } from "./doctor.ts";
import { type Finding, labelOfName } from "./finding.ts";
import { type RuleId, rules } from "./rules.ts";

/** Output of `-o json`; docs/doctor.schema.json describes it. */
export interface DoctorData extends Diagnosis {
  /** Examined source: `context NAME`, or the files. */
  readonly source: string;
  readonly kubernetesVersion: string;
  readonly rights: Rights;
}

/**
 * `error: ResourceClaim default/a: what is wrong [rule]`, with a line for each piece of evidence and each
 * command.
 */
function findingText({ rule, severity, object, message, evidence, consequence, fix }: Finding): string {
  const lines = [
    ...evidence.map((line) => `evidence: ${line}`),
    `consequence: ${consequence}`,
    ...fix.map((line) => `fix: ${line}`),
  ];
  return `${severity}: ${labelOfName(object)}: ${message} [${rule}]\n${lines.map((line) => `    ${line}\n`).join("")}`;
}

/** Maximum number of printed findings of one rule. */
const maxShown = 20;

export function doctorText({ findings, notJudged, objects, source, kubernetesVersion }: DoctorData): string {
  const count = (severity: Finding["severity"]): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const [errors, warnings] = [count("error"), count("warning")];
  const found = [
    ...(errors > 0 ? [counted(errors, "error")] : []),
    ...(warnings > 0 ? [counted(warnings, "warning")] : []),
  ];
  const summary = `${found.length === 0 ? "nothing found" : found.join(", ")} in ${counted(objects, "object")} of ${source}, by the rules of Kubernetes ${kubernetesVersion}\n`;
  const byReason = Map.groupBy(notJudged, ({ why }) => why);
  const silent = [...byReason].map(
    ([why, list]) => `not judged, since ${why}: ${list.map(({ rule }) => rule).join(", ")}\n`,
  );
  const shown = [...Map.groupBy(findings, ({ rule }) => rule)].flatMap(([rule, list]) => {
    const rest = list.length - maxShown;
    return [
      ...list.slice(0, maxShown).map(findingText),
      ...(rest > 0 ? [`and ${rest} more of [${rule}] (-o json has all)\n`] : []),
    ];
  });
  return [...shown, ...(findings.length > 0 ? ["\n"] : []), summary, ...silent].join("");
}

/**
 * A failed test for each finding, a passed one for each rule without findings; rules that were not checked
 * are skipped.
 */
export function junitText(data: DoctorData, judged: readonly RuleId[]): string {
  const { findings, notJudged } = data;
  const silent = new Map(notJudged.map(({ rule, why }) => [rule, why]));
  const cases = judged.flatMap((rule) => {
    const own = findings.filter((finding) => finding.rule === rule);
    const name = (text: string): string => `classname="dray.doctor.${rule}" name="${xml(text)}"`;
    const why = silent.get(rule);
    if (why !== undefined)
      return [
        `    <testcase ${name(rules[rule].about)}>\n      <skipped message="${xml(why)}"/>\n    </testcase>\n`,
      ];
    if (own.length === 0) return [`    <testcase ${name(rules[rule].about)}/>\n`];
    return own.map((finding) => {
      const { object, message, severity } = finding;
      const failure = `<failure message="${xml(message)}" type="${severity}">${xml(findingText(finding))}</failure>`;
      return `    <testcase ${name(labelOfName(object))}>\n      ${failure}\n    </testcase>\n`;
    });
  });
  const counts = `tests="${cases.length}" failures="${findings.length}" skipped="${silent.size}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    `<testsuites ${counts}>\n`,
    `  <testsuite name="dray doctor ${xml(data.source)}" errors="0" ${counts}>\n`,
    ...cases,
    "  </testsuite>\n",
    "</testsuites>\n",
  ].join("");
}

/** Characters that XML 1.0 does not allow. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

const xml = (text: string): string =>
  text.replace(controls, "\ufffd").replace(/[&<>"]/g, (character) => entities[character]!);
