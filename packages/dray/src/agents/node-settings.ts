import { DurationError, parseDuration } from "@dray/api";
import type { KubeletOptions } from "@dray/kubelet";
import { UsageError } from "../failure.ts";

/** Flags of `dray kubelet` that hold for each of its nodes; names and meaning are upstream's. */
export interface NodeFlags {
  readonly shutdownGracePeriod?: string;
  readonly shutdownGracePeriodCriticalPods?: string;
}

/** What an agent is told by these flags. */
export type NodeSettings = Pick<KubeletOptions, "shutdown">;

/** Throws a UsageError that names the flag, its value and what is accepted. */
export function nodeSettings(flags: NodeFlags): NodeSettings {
  return { ...shutdownSettings(flags) };
}

/** Upstream: pkg/kubelet/apis/config/validation/validation.go, ValidateKubeletConfiguration. */
function shutdownSettings(flags: NodeFlags): Pick<NodeSettings, "shutdown"> {
  const { shutdownGracePeriod = "0s", shutdownGracePeriodCriticalPods = "0s" } = flags;
  const gracePeriod = shutdownPeriod("--shutdown-grace-period", shutdownGracePeriod);
  const flag = "--shutdown-grace-period-critical-pods";
  const gracePeriodCriticalPods = shutdownPeriod(flag, shutdownGracePeriodCriticalPods);
  if (gracePeriodCriticalPods > gracePeriod)
    throw new UsageError(
      `${flag} ${shutdownGracePeriodCriticalPods}: must be at most --shutdown-grace-period, which is ${shutdownGracePeriod}`,
    );
  return gracePeriod === 0 ? {} : { shutdown: { gracePeriod, gracePeriodCriticalPods } };
}

function shutdownPeriod(flag: string, text: string): number {
  const milliseconds = durationFrom(text);
  if (milliseconds === 0 || (milliseconds !== undefined && milliseconds >= 1000)) return milliseconds;
  throw new UsageError(`${flag} ${text}: must be 0s, or a duration of at least 1s, such as 1m30s`);
}

/** Milliseconds; undefined for a text that is not a duration. */
function durationFrom(text: string): number | undefined {
  try {
    return Number(parseDuration(text)) / 1e6;
  } catch (error) {
    if (error instanceof DurationError) return undefined;
    throw error;
  }
}
