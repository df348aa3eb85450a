/**
 * Minimum priority of pods that are critical for the cluster. Upstream: pkg/apis/scheduling/types.go,
 * SystemCriticalPriority.
 */
export const systemCriticalPriority = 2_000_000_000;
