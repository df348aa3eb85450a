import type { Pod } from "@dray/api/core/v1";
import type { Refusal } from "../../types/refusal.ts";
import type { PodState } from "../pod-state.ts";

/** Admits a new pod, or fails it with the reason. */
export async function admitPod(state: PodState, pod: Pod): Promise<void> {
  const refusal = await refusalOf(state, pod);
  if (refusal === undefined) return;
  state.failure = { ...refusal, message: `Pod was rejected: ${refusal.message}` };
  state.rejected = true;
  state.events.warn(pod, refusal.reason, refusal.message);
}

/**
 * Allocates devices before the other checks, as upstream does. If labels of the node do not match, the Node
 * is read once more: the scheduler may have seen a change that this agent's watch has not
 * (kubernetes#134445). Sets `admitted` in the turn of the decision, so that one of two pods that only fit
 * alone is refused.
 */
async function refusalOf(state: PodState, pod: Pod): Promise<Refusal | undefined> {
  const { context } = state;
  const notNow = context.refusal(pod);
  if (notNow !== undefined) return notNow;
  const noDevices = await context.devicePlugins.admit(pod);
  context.at("devices allocated");
  if (noDevices !== undefined) return noDevices;
  let refusal = context.admit(pod);
  if (refusal?.reason === "NodeAffinity") {
    await context.refreshNode();
    refusal = context.admit(pod);
  }
  state.admitted = refusal === undefined;
  return refusal;
}
