import type { Pause } from "./large-work.ts";

/** Runs a step of work, or returns what it gave in an earlier piece. */
export type Step = <T>(run: () => T) => T;

/** Runs each step at once. */
export const atOnce: Step = (run) => run();

/** Milliseconds of steps in a piece. */
const pieceTime = 100;

/**
 * Does work whose steps take long, with a pause after each piece. The work is begun anew for each piece and has to do the
 * same every time; its earlier steps are not run again. Without `pause` all of it is one piece.
 */
export async function inPieces<T>(pause: Pause, work: (step: Step) => T): Promise<T> {
  if (pause === undefined) return work(atOnce);
  const results: unknown[] = [];
  for (;;) {
    let index = 0;
    let end: number | undefined;
    const step: Step = <R>(run: () => R): R => {
      if (index === results.length) {
        end ??= performance.now() + pieceTime;
        if (performance.now() > end) throw unfinished;
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
