import type { Pod, PodStatus } from "@dray/api/core/v1";
import type { WholePod } from "../../resources/pod-level-status.ts";
import { podStatus, rejectedStatus } from "../../status/pod-status.ts";
import { podText } from "../../types/pod-text.ts";
import type { Observed } from "../observed.ts";
import type { PodState } from "../pod-state.ts";

/** Writes the status of the pod, or of the mirror of a static pod. */
export async function reportStatus(state: PodState, pod: Pod, observed: Observed): Promise<void> {
  const { failure, context } = state;
  const status =
    state.rejected && failure !== undefined
      ? rejectedStatus(pod, failure, context.clock.now())
      : observedStatus(state, pod, observed);
  const shown = context.apiPod(pod);
  measureStart(state, pod, status);
  if (shown !== undefined) await state.statuses.report(shown, status);
}

/** Upstream: pkg/kubelet/kubelet.go, SyncPod: a pod that was Pending runs. */
function measureStart(state: PodState, pod: Pod, { phase }: PodStatus): void {
  if (state.hasRun || phase !== "Running") return;
  state.hasRun = true;
  const { clock, metrics } = state.context;
  if ((pod.status?.phase ?? "Pending") === "Pending") metrics.podStarted(clock.now() - state.firstSeen);
}

function observedStatus(state: PodState, pod: Pod, { sandboxes, containers }: Observed): PodStatus {
  const { context, failure, ended } = state;
  const { probes, runtime } = context;
  const [sandbox] = sandboxes;
  return podStatus({
    pod: state.resize.effective(pod),
    now: context.clock.now(),
    runtimeName: runtime.service.name,
    recursiveReadOnly: runtime.service.recursiveReadOnly ?? false,
    nodeAddress: context.nodeAddress,
    podIP: sandbox?.ips[0] ?? pod.status?.podIP,
    sandboxReady: sandbox?.ready ?? false,
    containers,
    allocatedResources: (container) => context.resourceHealth(pod, container),
    waiting: new Map([...state.failedStarts, ...state.waiting]),
    started: ({ id }) => probes.started(id),
    ready: ({ id }) => probes.ready(id) && !state.stops.running.has(id),
    restarting: state.restarting ?? false,
    resize: state.resize,
    ...wholePod(state, pod),
    nextAttempts: state.nextAttempts,
    failure,
    ending: pod.metadata.deletionTimestamp !== undefined || failure !== undefined || ended,
    ended,
  });
}

function wholePod({ context, bounds }: PodState, pod: Pod): { readonly whole?: WholePod } {
  return context.reportsWholePods ? { whole: { bounds: bounds.of(pod), options: context.bounds } } : {};
}

/** Records an event for each container whose failure the runtime explains. */
export function reportHints({ events }: PodState, pod: Pod, { containers }: Observed): void {
  for (const [name, [latest]] of containers)
    if (latest?.hint !== undefined)
      events.warnOnce(pod, "UnsupportedByRuntime", `Container ${name} failed: ${latest.hint}`);
}

/** Records an event for each container that waits after a crash. */
export function reportCrashes({ waiting, events }: PodState, pod: Pod, { containers }: Observed): void {
  for (const name of waiting.keys()) {
    const id = containers.get(name)?.[0]?.id;
    if (id === undefined || !events.isFirst(id)) continue;
    events.warn(pod, "BackOff", `Back-off restarting failed container ${name} in pod ${podText(pod)}`);
  }
}
