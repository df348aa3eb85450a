import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { parseJSON } from "@dray/api/codec";
import { type Case, type Difference, type Fields, MalformedLine, type Outcome, short } from "./format.ts";
import { formats } from "./formats/index.ts";
import type { KnownDifferences } from "./known-differences.ts";

/** Results of one file. */
export interface FileReport {
  readonly file: string;
  readonly passed: number;
  /** Readable, one for each case that failed, and for each line that cannot be read. */
  readonly failures: readonly string[];
  /** How many cases differ for a known reason. */
  readonly allowed: ReadonlyMap<string, number>;
  /** How many failed cases have a difference of a kind. */
  readonly kinds: ReadonlyMap<string, number>;
  /** Cases that agree as far as they are compared, though not to the last letter. */
  readonly beyond: number;
}

/**
 * Files of cases: `path` itself, or all `.jsonl` and `.jsonl.gz` in that folder and below, in the order of
 * names.
 */
export function caseFiles(path: string): string[] {
  if (!existsSync(path)) throw new Error(`${path}: there is no such file or folder`);
  if (!statSync(path).isDirectory()) return [path];
  const files = readdirSync(path, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      if (entry.isDirectory()) return caseFiles(join(path, entry.name));
      return /\.jsonl(\.gz)?$/.test(entry.name) ? [join(path, entry.name)] : [];
    });
  return files;
}

/** How many cases are replayed at a time where they wait for another process. */
const concurrency = 4;

/** Replays every case of a file. */
export async function replayFile(file: string, known: KnownDifferences): Promise<FileReport> {
  const counts = {
    passed: 0,
    beyond: 0,
    allowed: new Map<string, number>(),
    kinds: new Map<string, number>(),
  };
  let texts: string[];
  try {
    texts = lines(file);
  } catch (error) {
    const failures = [`${file}: ${error instanceof Error ? error.message : error}`];
    return { file, ...counts, failures, kinds: new Map([["file that cannot be read", 1]]) };
  }
  const failures: string[] = [];
  const running = new Set<Promise<void>>();
  for (const [i, text] of texts.entries()) {
    if (text.trim() === "") continue;
    const where = `${file}:${i + 1}`;
    let question: Case;
    try {
      question = readCase(text);
    } catch (error) {
      if (!(error instanceof MalformedLine)) throw error;
      failures[i] = `${where}: ${error.message}`;
      count(counts.kinds, "line that cannot be read");
      continue;
    }
    const take = (outcome: Outcome): void => {
      counts.beyond += outcome.beyond ?? 0;
      const verdict = judge(question, outcome, known);
      if (verdict === "passed") counts.passed++;
      else if ("allowed" in verdict) count(counts.allowed, verdict.allowed);
      else {
        failures[i] = describeFailure(where, question, verdict.failed);
        for (const kind of new Set(verdict.failed.map(({ kind }) => kind))) count(counts.kinds, kind);
      }
    };
    const replayed = replayTwice(question).then(take);
    if (!question.concurrent) await replayed;
    else {
      const done = replayed.finally(() => running.delete(done));
      running.add(done);
      if (running.size >= concurrency) await Promise.race(running);
    }
  }
  await Promise.all(running);
  return { file, ...counts, failures: failures.filter((text) => text !== undefined) };
}

/** Ends what the cases have started. */
export async function closeFormats(): Promise<void> {
  for (const format of formats) await format.close?.();
}

function lines(file: string): string[] {
  const bytes = readFileSync(file);
  return (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString().split("\n");
}

/** The case that a line holds. Throws MalformedLine. */
export function readCase(text: string): Case {
  let line: unknown;
  try {
    line = parseJSON(text);
  } catch (error) {
    throw new MalformedLine(`not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof line !== "object" || line === null || Array.isArray(line)) {
    throw new MalformedLine(`${short(line)} is no JSON object`);
  }
  const fields = line as Fields;
  const format = formats.find((format) => format.recognises(fields));
  if (format === undefined) {
    const names = formats.map(({ name }) => name).join(", ");
    throw new MalformedLine(
      `no known format has the fields ${Object.keys(fields).join(", ")}; known: ${names}`,
    );
  }
  return format.read(fields);
}

/**
 * Repeats a question to another process once if the answer differs: a few answers depend on whether a new
 * second has begun in between.
 */
async function replayTwice(question: Case): Promise<Outcome> {
  const outcome = await replay(question);
  return question.concurrent && outcome.differences.length > 0 ? replay(question) : outcome;
}

async function replay(question: Case): Promise<Outcome> {
  try {
    return await question.replay();
  } catch (error) {
    const actual = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { differences: [{ kind: "thrown", expected: "an answer", actual }] };
  }
}

type Verdict = "passed" | { readonly allowed: string } | { readonly failed: readonly Difference[] };

function judge(question: Case, { differences }: Outcome, known: KnownDifferences): Verdict {
  const reason = known.ofCase(question.id);
  if (differences.length > 0) {
    const allowed = reason ?? known.ofRules(question, differences);
    return allowed === undefined ? { failed: differences } : { allowed };
  }
  if (reason === undefined) return "passed";
  return {
    failed: [
      {
        kind: "out of date",
        expected: `a difference: ${reason}`,
        actual: "it agrees now: take it off the list",
      },
    ],
  };
}

/** A failed case for people: `where` it stands, what is asked, and each difference. */
export function describeFailure(where: string, question: Case, differences: readonly Difference[]): string {
  const parts = differences.map(({ kind, where, expected, actual }) =>
    [
      `  ${kind}${where === undefined ? "" : `, ${where}`}`,
      `    expected: ${indent(expected)}`,
      `    actual:   ${indent(actual)}`,
    ].join("\n"),
  );
  const asked = question.question === "" ? "" : `\n  ${indent(cut(question.question))}`;
  return `${where} ${question.id}${asked}\n${parts.join("\n")}`;
}

const cut = (text: string): string => (text.length > 500 ? `${text.slice(0, 500)}...` : text);
const indent = (text: string): string => text.replaceAll("\n", "\n      ");

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
