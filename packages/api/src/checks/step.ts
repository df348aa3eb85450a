/** Runs a step of long work, or returns its result from an earlier piece of the work. */
export type Step = <T>(run: () => T) => T;

/** Runs each step, where all of the work is one piece. */
export const atOnce: Step = (run) => run();
