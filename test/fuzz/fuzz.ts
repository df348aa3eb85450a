import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Random } from "@dray/testing/random";
import type { Scenario } from "./corpus.ts";
import type { Generator } from "./generators.ts";
import { type Answered, type Sent, Target } from "./target.ts";

/** A request and its answer, for those who look at the slowest and the largest. */
export interface Notable extends Answered {
  readonly seed: number;
  readonly sent: Sent;
}

export interface Report {
  readonly requests: number;
  /** How often each status was answered. */
  readonly statuses: ReadonlyMap<number, number>;
  /** The slowest answers, one of each round, the slowest first. */
  readonly slowest: readonly Notable[];
  readonly largest: Notable | undefined;
  /** Bytes that the heap has grown by since the first server was closed; undefined if there was but one. */
  readonly growth?: number;
}

/** A request whose answer breaks a rule. */
class Finding extends Error {
  readonly seed: number;
  readonly sent: Sent;

  constructor(seed: number, sent: Sent, why: string) {
    const body =
      sent.body === undefined ? "" : `\n${Buffer.from(sent.body).toString("latin1").slice(0, 2000)}`;
    super(`seed ${seed}: ${why}\n${sent.method} ${sent.url} ${JSON.stringify(sent.headers)}${body}`);
    this.seed = seed;
    this.sent = sent;
  }
}

/** Rounds on one server; then it is closed and its memory must come back. */
const roundsOfServer = 300;
/** Bytes by which caches that live as long as the process (compiled expressions, tables) may grow. */
const maxGrowth = 64 * 1024 * 1024;
/**
 * Milliseconds of its thread's processor time that an answer may take while nobody else is answered, on a
 * slow and busy machine.
 */
const longest = 500;
/** Bytes that an answer may have: a few times what a request may. */
const maxBytes = 32 * 1024 * 1024;
/** How many of the slowest answers are reported. */
const reported = 5;

/**
 * Sends what a generator makes for so long; each round has a seed of its own, counted up from `seed`, and
 * finds the same again when it is run first. Throws the first Finding.
 */
export async function fuzz(
  generator: Generator,
  corpus: readonly Scenario[],
  seed: number,
  milliseconds: number,
): Promise<Report> {
  const until = Date.now() + milliseconds;
  const statuses = new Map<number, number>();
  let slowest: readonly Notable[] = [];
  let requests = 0;
  let largest: Notable | undefined;
  let base: number | undefined;
  let growth: number | undefined;
  const note = (answers: readonly Notable[]): void => {
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    requests += answers.length;
    slowest = slowestOf([...slowest, ...slowestOf(answers, 1)], reported);
    for (const each of answers) if (each.bytes > (largest?.bytes ?? 0)) largest = each;
  };
  for (let round = 0; Date.now() < until; ) {
    round += await onOneServer(generator, corpus, { seed: seed + round, until }, note);
    if (base === undefined) base = usedHeap();
    else growth = await growthSince(base);
    if ((growth ?? 0) > maxGrowth)
      throw new Error(`the heap has grown by ${growth} bytes over ${round} rounds`);
  }
  return { requests, statuses, slowest, largest, ...(growth === undefined ? {} : { growth }) };
}

/**
 * By how many bytes the heap has grown; what was refused for its time may still be worked on for some
 * seconds.
 */
async function growthSince(base: number): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const growth = usedHeap() - base;
    if (growth <= maxGrowth || attempt === 5) return growth;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/**
 * Rounds on a server of their own; returns how many. Apart from those who look at the memory, because a
 * function that waits may keep what it has used.
 */
async function onOneServer(
  generator: Generator,
  corpus: readonly Scenario[],
  { seed, until }: { readonly seed: number; readonly until: number },
  note: (answers: readonly Notable[]) => void,
): Promise<number> {
  const target = await Target.start();
  try {
    let round = 0;
    for (; round < roundsOfServer && Date.now() < until; round++)
      note(await runRound(target, generator, corpus, seed + round));
    return round;
  } finally {
    await target.close();
  }
}

async function runRound(
  target: Target,
  generator: Generator,
  corpus: readonly Scenario[],
  seed: number,
): Promise<Notable[]> {
  const random = new Random(seed);
  const all = generator(random, random.pick(corpus));
  const answers: Notable[] = [];
  for (const [index, sent] of all.entries()) {
    const answered = await ask(target, sent, seed);
    const milliseconds =
      answered.milliseconds > longest
        ? await minTime(all.slice(0, index + 1), answered.milliseconds, seed)
        : answered.milliseconds;
    if (milliseconds > longest)
      throw new Finding(seed, sent, `the answer takes ${milliseconds} ms of processor time`);
    if (answered.bytes > maxBytes) throw new Finding(seed, sent, `the answer has ${answered.bytes} bytes`);
    answers.push({ ...answered, milliseconds, seed, sent });
  }
  return answers;
}

/**
 * Returns the minimum time of the last of these requests. A single measurement includes garbage collection
 * and compilation that earlier requests have left, so it is repeated on new servers.
 */
async function minTime(sent: readonly Sent[], first: number, seed: number): Promise<number> {
  let least = first;
  for (let again = 0; again < 2 && least > longest; again++) {
    const target = await Target.start();
    try {
      usedHeap();
      let last = 0;
      for (const each of sent) last = (await ask(target, each, seed)).milliseconds;
      least = Math.min(least, last);
    } finally {
      await target.close();
    }
  }
  return least;
}

const slowestOf = (answers: readonly Notable[], count: number): readonly Notable[] =>
  [...answers].sort((a, b) => b.milliseconds - a.milliseconds).slice(0, count);

async function ask(target: Target, sent: Sent, seed: number): Promise<Answered> {
  try {
    return await target.ask(sent);
  } catch (error) {
    throw new Finding(seed, sent, error instanceof Error ? error.message : String(error));
  }
}

let collect: (() => void) | undefined;

function usedHeap(): number {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  }
  collect();
  return process.memoryUsage().heapUsed;
}
