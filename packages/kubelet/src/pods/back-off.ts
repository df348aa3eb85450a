/** Milliseconds between restarts of a container that ends (CrashLoopBackOff): the first, and the longest. */
export const crashBackOff = [10_000, 300_000] as const;
