/**
 * `npm run conformance -- [FILE|DIR...]`: replays recorded answers of Kubernetes' own libraries and API
 * server, prints every disagreement, and exits with 1 if there is one. Without arguments it takes the
 * project's own data.
 */
import { join, relative } from "node:path";
import { KnownDifferences } from "./known-differences.ts";
import { caseFiles, closeFormats, type FileReport, replayFile } from "./replay.ts";

const own = ["cel", "alloc", "api"].map((name) => relative(process.cwd(), join(import.meta.dirname, name)));

async function main(paths: readonly string[]): Promise<number> {
  const known = KnownDifferences.read();
  const reports: FileReport[] = [];
  for (const file of (paths.length > 0 ? paths : own).flatMap(filesOf)) {
    const report = await replayFile(file, known);
    reports.push(report);
    for (const text of report.failures) print(text);
    print(`${file}: ${tally(report.passed, report.failures.length)}`);
  }
  const stale = paths.length > 0 ? [] : known.unmet;
  for (const name of stale)
    print(`known-differences.yaml: ${name}: nothing meets it now: take it off the list`);
  summarise(reports);
  const passed = sum(reports.map((report) => report.passed));
  const failed = sum(reports.map((report) => report.failures.length)) + stale.length;
  print(tally(passed, failed));
  return failed > 0 ? 1 : 0;
}

function filesOf(path: string): string[] {
  const files = caseFiles(path);
  if (files.length === 0) throw new Error(`${path}: there is no .jsonl or .jsonl.gz file in it`);
  return files;
}

function summarise(reports: readonly FileReport[]): void {
  const add = (pick: (report: FileReport) => ReadonlyMap<string, number>): Map<string, number> => {
    const total = new Map<string, number>();
    for (const [key, n] of reports.flatMap((report) => [...pick(report)]))
      total.set(key, (total.get(key) ?? 0) + n);
    return total;
  };
  print("");
  for (const [kind, n] of add((report) => report.kinds)) print(`failed by ${kind}: ${n}`);
  for (const [reason, n] of add((report) => report.allowed)) print(`known difference: ${n} (${reason})`);
  const beyond = sum(reports.map((report) => report.beyond));
  if (beyond > 0) print(`texts that are worded otherwise where the wording is not compared: ${beyond}`);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
const tally = (passed: number, failed: number): string => `${passed} passed, ${failed} failed`;

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

const usage =
  "npm run conformance -- [FILE|FOLDER...]   replays recorded cases; without names the project's own";

try {
  const args = process.argv.slice(2);
  if (args.includes("--help")) print(usage);
  else process.exitCode = await main(args);
} catch (error) {
  process.stderr.write(`conformance: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 2;
} finally {
  await closeFormats();
}
