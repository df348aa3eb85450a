import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Scenario } from "./corpus.ts";
import type { Generator } from "./generators.ts";
import { Random } from "./random.ts";
import { type Sent, Target } from "./target.ts";

export interface Report {
  readonly requests: number;
  /** How often each status was answered. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Bytes that the heap has grown by since the first server was closed; undefined if there was but one. */
  readonly growth?: number;
}

/** A request whose answer breaks a rule. */
export class Finding extends Error {
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
/** Caches that live as long as the process (compiled expressions, tables) are allowed to grow by so many bytes. */
const mostGrowth = 64 * 1024 * 1024;

/**
 * Sends what a generator makes for so long; each round has a seed of its own, counted up from `seed`, and finds the
 * same again when it is run first. Throws the first Finding.
 */
export async function fuzz(
  generator: Generator,
  corpus: readonly Scenario[],
  seed: number,
  milliseconds: number,
): Promise<Report> {
  const until = Date.now() + milliseconds;
  const statuses = new Map<number, number>();
  let requests = 0;
  let base: number | undefined;
  let growth: number | undefined;
  for (let round = 0; Date.now() < until; ) {
    const target = await Target.start();
    try {
      for (let ofServer = 0; ofServer < roundsOfServer && Date.now() < until; ofServer++, round++) {
        const random = new Random(seed + round);
        for (const sent of generator(random, random.pick(corpus))) {
          const status = await ask(target, sent, seed + round);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          requests++;
        }
      }
    } finally {
      await target.close();
    }
    const used = usedHeap();
    if (base === undefined) base = used;
    else growth = used - base;
    if ((growth ?? 0) > mostGrowth)
      throw new Error(`the heap has grown by ${growth} bytes over ${round} rounds`);
  }
  return { requests, statuses, ...(growth === undefined ? {} : { growth }) };
}

async function ask(target: Target, sent: Sent, seed: number): Promise<number> {
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
