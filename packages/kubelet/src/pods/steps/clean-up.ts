import { readdirSync } from "node:fs";
import { join } from "node:path";
import { StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { removeFolder } from "@dray/files";
import { shortened } from "../../base/text.ts";
import { UnprepareError } from "../../dra/manager.ts";
import type { Sandbox } from "../../runtime/service.ts";
import { podText } from "../../types/pod-text.ts";
import { isStaticPod } from "../../types/static-pod.ts";
import { type PodState, podKey } from "../pod-state.ts";

/** Stops the sandboxes of a pod without running containers, and releases its devices and claims. */
export async function cleanUpPod(
  state: PodState,
  pod: Pod | undefined,
  sandboxes: readonly Sandbox[],
): Promise<void> {
  const { dra, devicePlugins, runtime, signal, at } = state.context;
  for (const { id } of sandboxes) await runtime.service.stopPodSandbox(id);
  at("sandboxes stopped");
  devicePlugins.release(state.uid);
  try {
    await dra.unprepare(state.uid, signal);
    at("claims unprepared");
  } catch (error) {
    const message = `Failed to unprepare dynamic resources: ${(error as Error).message}`;
    if (pod !== undefined) state.events.warn(pod, "FailedUnprepareDynamicResources", message);
    state.starts.failedElsewhere(podKey);
    throw error;
  }
  state.starts.retry(podKey);
}

/** Removes everything of a pod that the API server no longer has. */
export async function removePod(state: PodState): Promise<void> {
  const { volumes, probes, runtime, at } = state.context;
  const { sandboxes, containers } = await state.observe();
  for (const { id, state: now } of [...containers.values()].flat()) {
    probes.forget(id);
    if (now !== "exited") await runtime.service.stopContainer(id, graceMilliseconds(state.pod));
  }
  // Once: the namespace of the event may be gone, and claims of a driver that is gone stay prepared for ever.
  const first = state.events.isFirst("removed") && state.pod !== undefined;
  try {
    await cleanUpPod(state, first ? state.pod : undefined, sandboxes);
  } catch (error) {
    reportLateDrivers(state, error as Error);
    throw error;
  }
  for (const { id } of sandboxes) await runtime.service.removePodSandbox(id);
  at("sandboxes removed");
  // Removing its files may take long; it uses no resources of the node any more.
  state.ended = true;
  state.endReported.resolve();
  await volumes.tearDown(state.uid);
  at("volumes removed");
  state.images.forget(state.uid);
  probes.metrics.forget(state.uid);
  await removeLogs(state);
  state.done = true;
}

/**
 * Deleting its manifest is how a static pod is deleted; others had their grace period before they were
 * removed.
 */
function graceMilliseconds(pod: Pod | undefined): number {
  if (pod === undefined || !isStaticPod(pod)) return 1000;
  return Number(pod.spec.terminationGracePeriodSeconds ?? 30) * 1000;
}

/**
 * Milliseconds, as after a restart of the agent, before an event of the Node names a driver that does not
 * answer.
 */
const lateDriverTimeout = 5000;

/** Records an event of the Node, since the pod is gone, for each driver that its claims wait for. */
function reportLateDrivers({ uid, pod, context, events, lateDrivers }: PodState, error: Error): void {
  const now = context.clock.now();
  const name = pod === undefined ? uid : podText(pod);
  for (const driver of error instanceof UnprepareError ? error.drivers : []) {
    const since = lateDrivers.get(driver) ?? now;
    lateDrivers.set(driver, since);
    if (now - since < lateDriverTimeout || !events.isFirst(driver)) continue;
    const message = `Claims of pod ${name}, which is gone, are still prepared: waiting for DRA driver ${driver}: ${error.message}`;
    context.events.event(context.node(), "Warning", "FailedUnprepareDynamicResources", shortened(message));
  }
}

/**
 * Finds folders by the UID alone, since nothing else may be known of a pod that was removed without an agent.
 */
async function removeLogs({ uid, context }: PodState): Promise<void> {
  const { podLogs } = context.paths;
  for (const name of readdirSync(podLogs))
    if (name.endsWith(`_${uid}`)) await removeFolder(join(podLogs, name));
}

/** Deletes the object of a pod that has ended. */
export async function deletePod({ context }: PodState, pod: Pod): Promise<void> {
  const { namespace, name, uid } = pod.metadata;
  context.at("end reported");
  try {
    await context.client
      .resource(Pod)
      .delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
  } catch (error) {
    if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
  }
}
