/**
 * `npm run conformance:live -- [--minutes N] [--seed S] [--out FILE]`: random questions to Kubernetes' own
 * libraries (the oracle) and to ours. Every difference that is not a known one goes to FILE, small, as a case
 * that `npm run conformance -- FILE` replays. The seed repeats a run.
 */
import { appendFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseJSON } from "@dray/api/codec";
import { Random } from "@dray/testing/random";
import { type Difference, type Fields, json } from "./format.ts";
import { KnownDifferences } from "./known-differences.ts";
import { type Kind, kinds } from "./live/kinds.ts";
import { shrink } from "./live/shrink.ts";
import { Oracle, oracleProgram } from "./oracle.ts";
import { describeFailure, readCase } from "./replay.ts";

/** Questions on their way to the oracle at a time. */
const batch = 32;

/** Outcome of a question. */
type Count = "agree" | "differ" | "known difference" | "at random upstream" | "no answer upstream";

class Run {
  readonly #oracle: Oracle;
  readonly #known = KnownDifferences.read(true);
  readonly counts = new Map<string, Map<Count, number>>();
  /** Cases written to the file. */
  found = 0;
  readonly #file: string;

  constructor(oracle: Oracle, file: string) {
    this.#oracle = oracle;
    this.#file = file;
    rmSync(file, { force: true });
  }

  async ask(kind: Kind, question: Fields): Promise<void> {
    const outcome = await this.#outcome(kind, question);
    const counts = this.counts.get(kind.name) ?? new Map<Count, number>();
    this.counts.set(kind.name, counts);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }

  async #outcome(kind: Kind, question: Fields): Promise<Count> {
    const expect = await this.#expected(kind, question);
    if (expect === undefined) return "no answer upstream";
    const differences = await differ({ ...question, expect });
    if (differences.length === 0) return "agree";
    if (this.#known.ofRules(readCase(json({ ...question, expect })), differences) !== undefined) {
      return "known difference";
    }
    if (await this.#unstable(kind, question)) return "at random upstream";
    const wanted = differences[0]!.kind;
    const small = await shrink(question, async (smaller) => {
      const expect = await this.#expected(kind, smaller);
      return expect !== undefined && (await differ({ ...smaller, expect }))[0]?.kind === wanted;
    });
    const stable = (await this.#unstable(kind, small)) ? question : small;
    const line = json({ ...stable, expect: await this.#expected(kind, stable) });
    // The smaller question may show that the difference is a known one.
    const left = await differ(parseJSON(line) as Fields);
    if (this.#known.ofRules(readCase(line), left) !== undefined) {
      return "known difference";
    }
    appendFileSync(this.#file, `${line}\n`);
    this.found++;
    process.stdout.write(`${describeFailure("differs:", readCase(line), left)}\n`);
    return "differ";
  }

  async #expected(kind: Kind, question: Fields): Promise<Fields | undefined> {
    const { answer } = await this.#oracle.ask(json({ op: kind.op, ...question }));
    return answer && kind.expected(answer);
  }

  async #unstable(kind: Kind, question: Fields): Promise<boolean> {
    const { answer } = await this.#oracle.ask(json({ op: kind.op, ...kind.repeat(question) }));
    return answer === undefined || kind.unstable(answer);
  }
}

/** Returns the differences of our answer; an exception of ours is one too. */
async function differ(line: Fields): Promise<readonly Difference[]> {
  try {
    return (await readCase(json(line)).replay()).differences;
  } catch (error) {
    const actual = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return [{ kind: "thrown", expected: "an answer", actual }];
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { minutes: { type: "string" }, seed: { type: "string" }, out: { type: "string" } },
  });
  const minutes = Number(values.minutes ?? 2);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  if (!(minutes > 0)) throw new Error(`--minutes ${values.minutes}: it must be a number greater than 0`);
  if (!Number.isInteger(seed)) throw new Error(`--seed ${values.seed}: it must be a whole number`);
  const program = oracleProgram();
  if (program === undefined) {
    process.stdout.write("not run: Go missing, and DRAY_ORACLE names no oracle\n");
    return 0;
  }
  process.stdout.write(`seed ${seed}, ${minutes} minutes\n`);
  using oracle = new Oracle(program);
  const out = values.out ?? join(tmpdir(), `dray-live-${seed}.jsonl`);
  const run = new Run(oracle, out);
  const end = Date.now() + minutes * 60_000;
  for (let n = 0; Date.now() < end; n += batch) {
    await Promise.all(
      Array.from({ length: batch }, (_, i) => {
        const kind = kinds[(n + i) % kinds.length]!;
        return run.ask(kind, kind.make(new Random(Math.imul(seed, 1_000_003) + n + i), `${seed}-${n + i}`));
      }),
    );
  }
  for (const [name, counts] of run.counts) {
    process.stdout.write(`${name}: ${[...counts].map(([what, n]) => `${n} ${what}`).join(", ")}\n`);
  }
  if (run.found === 0) return 0;
  process.stdout.write(`${run.found} differences of seed ${seed} in ${out}\n`);
  return 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`conformance:live: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 2;
}
