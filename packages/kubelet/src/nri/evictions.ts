import type { Log } from "@dray/client";
import type { ContainerEviction } from "@dray/rpc/nri/v1alpha1";

/** Maximum length of a plugin's text in a log line. */
export const maxLoggedText = 1024;

/**
 * Logs that evictions of a plugin are not done, once for all: a message may have 100,000. Upstream's
 * adaptation ignores them silently.
 */
export function warnOfEvictions(log: Log, evictions: readonly ContainerEviction[], plugin?: string): void {
  const [first] = evictions;
  if (first === undefined) return;
  log.warn(
    {
      ...(plugin !== undefined && { plugin }),
      container: first.containerId.slice(0, maxLoggedText),
      reason: first.reason.slice(0, maxLoggedText),
      evictions: evictions.length,
    },
    "NRI plugin wants an eviction, which is not done",
  );
}
