/**
 * Name of the file with the output of a detached cluster and its agents outside of their logs: why a process
 * failed.
 */
export const outputLog = "up.log";
