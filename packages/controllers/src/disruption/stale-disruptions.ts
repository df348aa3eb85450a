import { StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { type Client, type Clock, timeText } from "@dray/client";
import { refTo } from "../shared/status.ts";

/** Milliseconds after which a pod that was to be disrupted, and was not deleted, no longer says so. */
const staleTimeout = 120_000;

/**
 * Milliseconds until a disruption that was announced counts as called off; undefined if none was, or it came.
 */
export function untilStale(pod: Pod, now: number): number | undefined {
  if (pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod)) return undefined;
  const condition = pod.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  // The kubelet may take as long as it likes.
  if (condition?.status !== "True" || condition.reason === "TerminationByKubelet") return undefined;
  return Math.max(0, Date.parse(condition.lastTransitionTime ?? "") + staleTimeout - now) || 0;
}

/** Takes back the condition of a disruption that did not come (KEP-3329). */
export async function clearDisruptionTarget(client: Client, clock: Clock, pod: Pod): Promise<void> {
  const { uid, generation } = pod.metadata;
  const condition = {
    type: "DisruptionTarget",
    status: "False",
    reason: null,
    message: null,
    lastTransitionTime: timeText(clock.now()),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  try {
    const body = { metadata: { uid }, status: { conditions: [condition] } };
    await client.resource(Pod).patch(refTo(pod), "strategic", body, { subresource: "status" });
  } catch (error) {
    if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
  }
}
