/** What takes longer than this does not go on by itself, in milliseconds. */
const patience = 60_000;
/** A kubelet that still fails says so again within this time, in milliseconds. */
const recent = 10 * 60_000;

export const isLongAgo = (time: string, now: number): boolean => now - Date.parse(time) > patience;

export const isRecent = (time: string, now: number): boolean => now - Date.parse(time) <= recent;
