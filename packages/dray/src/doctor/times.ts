/** Time after which a deletion counts as stuck, in milliseconds. */
const stuckTimeout = 60_000;
/** Maximum age of events, in milliseconds: a kubelet that still fails repeats them. */
const maxEventAge = 10 * 60_000;

export const isLongAgo = (time: string, now: number): boolean => now - Date.parse(time) > stuckTimeout;

export const isRecent = (time: string, now: number): boolean => now - Date.parse(time) <= maxEventAge;
