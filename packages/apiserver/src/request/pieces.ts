import type { Pause } from "./large-work.ts";

/** Runs a step of work, or returns its result from an earlier piece. */
export type Step = <T>(run: () => T) => T;

/** Runs each step at once. */
export const atOnce: Step = (run) => run();

/** Maximum time of a piece, in milliseconds. */
const pieceTime = 100;

/**
 * Runs work with long steps, with a pause after each piece. The work is restarted for each piece and must be
 * deterministic; completed steps are not run again. Without `pause` all of it is one piece. `now` returns
 * milliseconds.
 */
export async function inPieces<T>(pause: Pause, now: () => number, work: (step: Step) => T): Promise<T> {
  if (pause === undefined) return work(atOnce);
  const results: unknown[] = [];
  for (;;) {
    let index = 0;
    let end: number | undefined;
    const step: Step = <R>(run: () => R): R => {
      if (index === results.length) {
        end ??= now() + pieceTime;
        if (now() > end) throw unfinished;
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
