import type { Finding } from "./source.ts";

/** Where a rule does not hold, with the reason. */
export interface Allowance {
  /** A file, or a folder with a `/` at its end. */
  readonly path: string;
  /** Maximum number of findings, for those that shall disappear; no limit if absent. */
  readonly count?: number;
  readonly reason: string;
}

export interface Judgement {
  /** Findings that nothing allows, and allowances of too few. */
  readonly problems: string[];
  /** Allowances of too many. */
  readonly notices: string[];
}

/** Takes the findings of a rule that are allowed out of them. */
export function judge(
  rule: string,
  findings: readonly Finding[],
  allowances: readonly Allowance[],
): Judgement {
  const allowed = new Map<Allowance, Finding[]>(allowances.map((allowance) => [allowance, []]));
  const problems: string[] = [];
  for (const finding of findings) {
    const allowance = allowances.find(({ path }) =>
      path.endsWith("/") ? finding.path.startsWith(path) : finding.path === path,
    );
    if (allowance === undefined) problems.push(textOf(finding));
    else allowed.get(allowance)!.push(finding);
  }
  const notices: string[] = [];
  for (const [{ path, count }, found] of allowed) {
    const where = `scripts/rules/allowances.json, ${rule}, ${path}`;
    if (found.length === 0) notices.push(`${where}: nothing is left to allow, remove the entry`);
    else if (count !== undefined && found.length > count) {
      for (const finding of found) problems.push(textOf(finding));
      problems.push(`${where}: allows ${count}, and there are ${found.length}`);
    } else if (count !== undefined && found.length < count)
      notices.push(`${where}: lower the count from ${count} to ${found.length}`);
  }
  return { problems, notices };
}

function textOf({ path, line, text }: Finding): string {
  return `${path}${line === undefined ? "" : `:${line}`}: ${text}`;
}
