import type { Finding } from "./source.ts";

/** Where a rule does not hold, with the reason. */
export interface Allowance {
  /** A file, or a folder with a `/` at its end. */
  readonly path: string;
  readonly reason: string;
}

/** Returns the findings of a rule that nothing allows, and the allowances that allow nothing, as texts. */
export function judge(
  rule: string,
  findings: readonly Finding[],
  allowances: readonly Allowance[],
): readonly string[] {
  const problems: string[] = [];
  const used = new Set<Allowance>();
  for (const finding of findings) {
    const allowance = allowances.find(({ path }) =>
      path.endsWith("/") ? finding.path.startsWith(path) : finding.path === path,
    );
    if (allowance === undefined) problems.push(textOf(finding));
    else used.add(allowance);
  }
  for (const allowance of allowances) {
    if (used.has(allowance)) continue;
    problems.push(
      `scripts/rules/allowances.json, ${rule}, ${allowance.path}: nothing is left to allow, remove the entry`,
    );
  }
  return problems;
}

function textOf({ path, line, text }: Finding): string {
  return `${path}${line === undefined ? "" : `:${line}`}: ${text}`;
}
