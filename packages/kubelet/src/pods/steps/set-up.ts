import type { Pod } from "@dray/api/core/v1";
import { runtimeHandlerOf } from "../../containers/runtime-class.ts";
import { sandboxConfig } from "../../containers/sandbox-config.ts";
import { RuntimeError } from "../../runtime/error.ts";
import type { Observed } from "../observed.ts";
import { type PodState, podKey } from "../pod-state.ts";
import { reportStatus } from "./report.ts";

/**
 * Sets up volumes, then claims, then the sandbox. Returns false if the set-up failed and is tried again
 * later.
 */
export async function setUpPod(state: PodState, pod: Pod, observed: Observed): Promise<boolean> {
  const { context, volumes } = state;
  // Drivers may look at the pod's volumes: claims are prepared after them, as upstream does.
  const [report, volume] = await Promise.allSettled([reportStatus(state, pod, observed), volumes.setUp(pod)]);
  if (report.status === "rejected")
    context.log.debug({ pod: pod.metadata.name, err: report.reason }, "cannot report");
  if (volume.status === "rejected") {
    volumes.reportFailure(pod, volume.reason as Error);
    state.retryLater(podKey);
    return false;
  }
  context.at("volumes set up");
  try {
    await context.dra.prepare(pod, context.signal);
    context.at("claims prepared");
  } catch (error) {
    const { message } = error as Error;
    const text = `Failed to prepare dynamic resources: prepare dynamic resources: ${message}`;
    return failed(state, pod, "FailedPrepareDynamicResources", text);
  }
  volumes.use(pod, volume.value);
  try {
    await runSandbox(state, pod, observed);
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
    const text = `Failed to create pod sandbox: ${error.message}`;
    return failed(state, pod, "FailedCreatePodSandBox", text);
  }
  state.starts.succeeded(podKey);
  return true;
}

async function runSandbox(state: PodState, pod: Pod, observed: Observed): Promise<void> {
  const { context, events } = state;
  const { runtime, client } = context;
  const attempt = (observed.sandboxes[0]?.config.attempt ?? -1) + 1;
  const handler = await runtimeHandlerOf(pod, client);
  const { config, warnings } = sandboxConfig(pod, attempt, handler, context);
  for (const { reason, message } of warnings) events.warnOnce(pod, reason, message);
  const { unsupported } = await runtime.service.runPodSandbox(config);
  state.bounds.made(pod);
  state.resize.settled(pod);
  events.warnUnsupported(pod, "The pod", unsupported, runtime.service.name);
}

function failed(state: PodState, pod: Pod, reason: string, message: string): false {
  state.events.warn(pod, reason, message);
  state.retryLater(podKey);
  return false;
}

/** Updates what is mounted in running containers. Returns false if no volumes were ever set up here. */
export async function refreshVolumes(state: PodState, pod: Pod): Promise<boolean> {
  const { volumes, context } = state;
  try {
    volumes.use(pod, await volumes.setUp(pod));
  } catch (error) {
    volumes.reportFailure(pod, error as Error);
    context.requeueAfter(state.uid, volumes.postpone());
    // Running containers keep what they have.
    return volumes.mounted !== undefined;
  }
  return true;
}
