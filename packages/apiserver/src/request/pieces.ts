import type { Pause } from "./large-work.ts";

/** Runs a step of work, or returns its result from an earlier piece. */
export type Step = <T>(run: () => T) => T;

/** Runs each step at once. */
export const atOnce: Step = (run) => run();

/**
 * Runs work with long steps, with a pause wherever one is due before a step. The work is restarted for each
 * piece and must be deterministic; completed steps are not run again. Without `pause` all of it is one piece.
 */
export async function inPieces<T>(pause: Pause, work: (step: Step) => T): Promise<T> {
  if (pause === undefined) return work(atOnce);
  const results: unknown[] = [];
  for (;;) {
    let index = 0;
    let hasBegun = false;
    const step: Step = <R>(run: () => R): R => {
      if (index === results.length) {
        if (hasBegun && pause.isDue()) throw unfinished;
        hasBegun = true;
        results.push(run());
      }
      return results[index++] as R;
    };
    try {
      return work(step);
    } catch (error) {
      if (error !== unfinished) throw error;
    }
    await pause();
  }
}

const unfinished = Symbol("the rest comes in the next piece");
