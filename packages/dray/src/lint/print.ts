import { problemMessage } from "../manifests/problem.ts";
import { counted } from "../text/words.ts";
import type { Finding } from "./finding.ts";

/** `file:12: error: Pod default/a: spec.x: what is wrong [rule]`, and a line for each detail and hint. */
export function findingText(finding: Finding): string {
  const { file, line, document, item, severity, rule, details, hints } = finding;
  // Without a line, the number of the document is the position.
  const where =
    line !== undefined
      ? `${file}:${line}`
      : [file, ...(document === undefined ? [] : [`document ${document}`])].join(", ");
  // A list on one line.
  const inList = item === undefined || (line ?? 1) > 1 ? "" : `item ${item}: `;
  const text = `${where}: ${severity}: ${inList}${problemMessage(finding)} [${rule}]`;
  const more = [...details, ...hints.map((hint) => `hint: ${hint}`)];
  return [text.replaceAll("\n", "\n    "), ...more.map((line) => `    ${line}`), ""].join("\n");
}

/** Formats a workflow command of GitHub Actions, which annotates the line. */
export function githubText(finding: Finding): string {
  const { file, line, severity, rule, details, hints } = finding;
  const message = [problemMessage(finding), ...details, ...hints.map((hint) => `hint: ${hint}`)].join("\n");
  const properties = [
    `file=${property(file)}`,
    ...(line === undefined ? [] : [`line=${line}`]),
    `title=${property(rule)}`,
  ];
  return `::${severity} ${properties.join(",")}::${data(message)}\n`;
}

const data = (text: string): string =>
  text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

const property = (text: string): string => data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");

export interface LintSummary {
  readonly kubernetesVersion: string;
  readonly files: number;
  readonly objects: number;
  /** Number of objects of custom kinds. */
  readonly unchecked: number;
  readonly errors: number;
  readonly warnings: number;
}

export function summaryText(summary: LintSummary): string {
  const { kubernetesVersion, objects, errors, warnings } = summary;
  const found = [
    ...(errors > 0 ? [counted(errors, "error")] : []),
    ...(warnings > 0 ? [counted(warnings, "warning")] : []),
  ];
  const what = found.length === 0 ? "nothing found" : found.join(", ");
  return `${what} in ${counted(objects, "object")}, by the rules of Kubernetes ${kubernetesVersion}\n`;
}
