import type { ContainerStatus, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import type { PodEnd } from "../types/pod-end.ts";
import { computePodActions } from "./compute-pod-actions.ts";
import type { Observed } from "./observed.ts";
import type { PodAction } from "./pod-actions.ts";
import { PodState, podKey } from "./pod-state.ts";
import { isRestarting } from "./restarts.ts";
import { settlesIn } from "./settling.ts";
import { admitPod } from "./steps/admit.ts";
import { cleanUpPod, deletePod, removePod } from "./steps/clean-up.ts";
import { reportCrashes, reportHints, reportStatus } from "./steps/report.ts";
import { resizeRunning } from "./steps/resize.ts";
import { resetContainers } from "./steps/restart-all.ts";
import { refreshVolumes, setUpPod } from "./steps/set-up.ts";
import { startContainer } from "./steps/start-container.ts";
import { stopContainer } from "./steps/stop-container.ts";
import type { WorkerContext } from "./worker-context.ts";

/** Maximum number of plans in one `sync`; a pod that needs more goes to the end of the queue. */
const maxRounds = 100;

/**
 * Brings one pod to its desired state: observes its sandboxes and containers, computes the next actions, and
 * performs them, until no action is left. `sync` is called after every change, never twice at a time; it
 * waits only for drivers, images, and hooks after a start.
 *
 * Upstream: pkg/kubelet/kubelet.go, SyncPod, SyncTerminatingPod, SyncTerminatedPod.
 */
export class PodWorker {
  readonly #state: PodState;

  constructor(uid: string, context: WorkerContext) {
    this.#state = new PodState(uid, context);
  }

  get uid(): string {
    return this.#state.uid;
  }

  /** The object of the last round. */
  get known(): Pod | undefined {
    return this.#state.pod;
  }

  /** The newest object, with the resources that are allocated to the pod. */
  get pod(): Pod | undefined {
    const { pod, resize } = this.#state;
    return pod === undefined ? undefined : resize.effective(pod);
  }

  /** True when nothing of the pod is left here: the worker may be forgotten. */
  get done(): boolean {
    return this.#state.done;
  }

  /** True while the pod counts against the node's resources. */
  get active(): boolean {
    return !this.#state.ended && this.#state.failure === undefined;
  }

  /** True when no container of the pod runs or will run: its devices are free. */
  get ended(): boolean {
    return this.#state.ended;
  }

  /** True from the admission on: the pod counts in the admission of others. */
  get admitted(): boolean {
    return this.#state.admitted;
  }

  /** Retries a set-up that failed, since a driver was registered or a claim released. */
  retry(): void {
    if (this.#state.starts.retry(podKey)) this.#requeue();
  }

  /** Retries all starts that failed, since devices of the pod were reported. */
  retryStarts(): void {
    if (this.#state.starts.retryAll()) this.#requeue();
  }

  /** Refreshes the volumes of running containers, and retries a set-up that failed. */
  volumesChanged(): void {
    this.#state.volumes.markOutdated();
    this.#state.starts.retry(podKey);
    this.#requeue();
  }

  /** Begins to end the pod. Resolves when none of its containers runs and its status has been written. */
  end(end: PodEnd): Promise<void> {
    const state = this.#state;
    if (state.failure === undefined && !state.ended) state.failure = end;
    this.#requeue();
    return state.endReported.promise;
  }

  /** `pod` is the newest object, undefined if the API server has none. */
  async sync(pod: Pod | undefined): Promise<void> {
    const state = this.#state;
    if (pod === undefined) return removePod(state);
    state.pod = pod;
    const observed = await this.#advance(pod);
    reportHints(state, pod, observed);
    // An earlier agent has reported the end of a pod of which nothing is left.
    if (!isPodTerminal(pod) || state.statuses.begun || observed.sandboxes.length > 0)
      await this.#report(pod, observed);
    if (state.ended) state.endReported.resolve();
    if (state.ended && pod.metadata.deletionTimestamp !== undefined) await deletePod(state, pod);
  }

  async #report(pod: Pod, observed: Observed): Promise<void> {
    const state = this.#state;
    const { context } = state;
    const left = state.ended || context.reportsStarts ? 0 : settlesIn(observed, context.clock.now());
    if (left > 0) context.requeueAfter(state.uid, Math.ceil(left));
    else await reportStatus(state, pod, observed);
  }

  /** Plans and performs actions until there is nothing to do at once. Returns what there is then. */
  async #advance(known: Pod): Promise<Observed> {
    const state = this.#state;
    const { context } = state;
    let observed = await state.observe();
    if (!state.admitted && observed.sandboxes.length === 0 && state.mayRun(known))
      await admitPod(state, known);
    state.admitted = true;
    state.restarting ??= isRestarting(known);
    for (let round = 0; round < maxRounds; round++) {
      const pod = await resizeRunning(state, known, observed);
      const now = context.clock.now();
      const plan = computePodActions({
        pod,
        now,
        ...observed,
        memory: state.memory(pod),
        probes: context.probes,
      });
      state.waiting = plan.waiting;
      reportCrashes(state, pod, observed);
      if (plan.lookAgain !== undefined) context.requeueAfter(state.uid, plan.lookAgain);
      let progress = false;
      for (const action of plan.actions) {
        context.at(`planned ${action.type}`);
        const outcome = await this.#perform(pod, action, observed);
        context.at(`performed ${action.type}`);
        progress ||= outcome === "done";
        if (outcome === "failed") break;
      }
      observed = await state.observe();
      if (!progress) return observed;
    }
    this.#requeue();
    return observed;
  }

  /**
   * `done`: the plan is out of date; `begun`: the action goes on elsewhere; `failed`: later actions have to
   * wait.
   */
  async #perform(pod: Pod, action: PodAction, observed: Observed): Promise<"done" | "begun" | "failed"> {
    const state = this.#state;
    const { probes, runtime } = state.context;
    switch (action.type) {
      case "fail": {
        const { reason, message } = action;
        state.failure = { reason, message };
        state.events.record(pod, { type: "Normal", reason, message });
        return "done";
      }
      case "setUp":
        return (await setUpPod(state, pod, observed)) ? "done" : "failed";
      case "refreshVolumes":
        return (await refreshVolumes(state, pod)) ? "done" : "failed";
      case "beginRestart":
        state.restarting = true;
        await reportStatus(state, pod, observed);
        return "done";
      case "reset":
        await resetContainers(state, pod, action, observed);
        return "done";
      case "start":
        return (await startContainer(state, pod, action)) ? "done" : "begun";
      case "stop":
        stopContainer(state, pod, action, observed);
        return "begun";
      case "watch": {
        const { spec, container, ip } = action;
        const target = { podUid: state.uid, containerId: container.id, spec, podIP: ip };
        probes.watch(target, reportedHealth(pod, container.id));
        return "begun";
      }
      case "remove":
        await runtime.service.removeContainer(action.container.id);
        return "done";
      case "cleanUp":
        for (const { id } of [...observed.containers.values()].flat()) probes.forget(id);
        await cleanUpPod(state, pod, observed.sandboxes);
        state.ended = true;
        return "done";
    }
  }

  #requeue(): void {
    this.#state.context.requeue(this.#state.uid);
  }
}

/** The status of a container that an earlier agent has reported, which stands until probes have run. */
function reportedHealth({ status }: Pod, id: string): ContainerStatus | undefined {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.find(({ containerID }) => containerID?.endsWith(`//${id}`));
}
