import { Random } from "@dray/testing/random";
import { fuzzCdi } from "./cdi.ts";

/** One round of a fuzzer of something that is not behind the API server: throws if it breaks a rule. */
export type Round = (random: Random) => void | Promise<void>;

/** By the name that `npm run fuzz` gives them. */
export const components: Readonly<Record<string, Round>> = { cdi: fuzzCdi };

/** Milliseconds of processor time that a round may take, on a slow and busy machine. */
const maxRoundTime = 1000;

/**
 * Runs rounds for so long, each with a seed of its own, counted up from `seed`; returns how many. The error
 * of the first that breaks a rule names its seed, with which it is found again.
 */
export async function fuzzComponent(round: Round, seed: number, milliseconds: number): Promise<number> {
  const until = Date.now() + milliseconds;
  let rounds = 0;
  for (; Date.now() < until; rounds++) {
    const before = process.cpuUsage();
    try {
      await round(new Random(seed + rounds));
    } catch (error) {
      throw new Error(`seed ${seed + rounds}: ${(error as Error).message}`, { cause: error });
    }
    const { user, system } = process.cpuUsage(before);
    const took = (user + system) / 1000;
    if (took > maxRoundTime) throw new Error(`seed ${seed + rounds}: it takes ${took} ms of processor time`);
  }
  return rounds;
}
