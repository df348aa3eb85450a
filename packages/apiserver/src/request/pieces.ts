import type { Pause } from "./large-work.ts";

/** Runs a step of work, or returns its result from an earlier piece. */
export type Step = <T>(run: () => T) => T;

/** Runs each step at once. */
export const atOnce: Step = (run) => run();

/** Result of a step: its value, or the error that it has thrown. */
type Result = { readonly value: unknown } | { readonly error: unknown };

/**
 * Runs work with long steps, with a pause wherever one is due before a step. The work is restarted for each
 * piece and must be deterministic; completed steps are not run again, and give or throw the same. All between
 * them is: it must not take long. A step has no steps of its own, and changes nothing that the work looks at
 * but by its result. The work may catch errors of steps, but no others. Without `pause` all of it is one
 * piece.
 */
export async function inPieces<T>(pause: Pause, work: (step: Step) => T): Promise<T> {
  if (pause === undefined) return work(atOnce);
  const results: Result[] = [];
  for (;;) {
    let index = 0;
    // Repeated work does not count, so that a piece has new steps however long that takes.
    let isDue: (() => boolean) | undefined;
    const step: Step = <R>(run: () => R): R => {
      if (index === results.length) {
        if (isDue?.() === true) throw unfinished;
        isDue ??= pause.begin();
        results.push(resultOf(run));
      }
      const result = results[index++]!;
      if ("error" in result) throw result.error;
      return result.value as R;
    };
    try {
      return work(step);
    } catch (error) {
      if (error !== unfinished) throw error;
    }
    await pause();
  }
}

function resultOf(run: () => unknown): Result {
  try {
    return { value: run() };
  } catch (error) {
    return { error };
  }
}

const unfinished = Symbol("the rest comes in the next piece");
