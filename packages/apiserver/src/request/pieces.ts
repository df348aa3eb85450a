import { atOnce, type Step } from "@dray/api/validation";
import type { Pause } from "./large-work.ts";

export { atOnce, type Step };

/** Result of a step: its value, or the error that it has thrown. */
type Result = { readonly value: unknown } | { readonly error: unknown };

/**
 * Runs work with long steps, with a pause wherever one is due before a step. The work is restarted for each
 * piece and must be deterministic. Completed steps are not run again, and give or throw the same; the work
 * between them is repeated, and must be short. A step has no steps of its own, and has its effect by its
 * result alone. The work may catch errors of steps, but no others. Without `pause` all of it is one piece.
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
