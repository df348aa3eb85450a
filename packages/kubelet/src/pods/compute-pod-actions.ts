import { durationText } from "@dray/api";
import type { Container as ContainerSpec, EphemeralContainer, Pod } from "@dray/api/core/v1";
import { canRestartAll, isPodTerminal, isSidecar, restartsAllAfter, sidecarsOf } from "@dray/api/pod";
import { containerHash } from "../containers/container-hash.ts";
import type { Container, Sandbox } from "../runtime/service.ts";
import { restartingCondition } from "../status/conditions.ts";
import { allContainers, type StartableContainer } from "../types/containers.ts";
import { podText } from "../types/pod-text.ts";
import { crashKey } from "./back-off.ts";
import type { PodAction, PodPlan, PodView } from "./pod-actions.ts";
import { attemptAfterReset, restarts } from "./restarts.ts";

/**
 * Computes the next actions that bring a pod to its desired state. A pure function of its input.
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions; pkg/kubelet/kubelet.go,
 * SyncPod.
 */
export function computePodActions(view: PodView): PodPlan {
  const plan = new Plan(view);
  plan.make();
  return { actions: plan.actions, waiting: plan.waiting, lookAgain: plan.lookAgain };
}

/** Grace period of the containers of a pod in seconds. */
function graceOf({ metadata, spec }: Pod): number {
  return Number(metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30);
}

class Plan {
  readonly actions: PodAction[] = [];
  readonly waiting = new Map<string, { reason: string; message: string }>();
  lookAgain: number | undefined;
  readonly #view: PodView;

  constructor(view: PodView) {
    this.#view = view;
  }

  make(): void {
    const { pod, memory } = this.#view;
    const ends =
      pod.metadata.deletionTimestamp !== undefined || memory.failure !== undefined || isPodTerminal(pod);
    if (!ends && (this.#isOverdue() || !this.#restartsAll())) return;
    if (ends || this.#finishedByItself()) {
      this.#end();
      return;
    }
    const sandbox = this.#view.sandboxes.find(({ ready }) => ready);
    if (sandbox === undefined) {
      if (memory.setUpWait > 0) this.#lookIn(memory.setUpWait);
      else this.actions.push({ type: "setUp" });
      return;
    }
    if (memory.volumesWait === 0) this.actions.push({ type: "refreshVolumes" });
    else if (memory.volumesWait !== undefined) this.#lookIn(memory.volumesWait);
    this.#runContainers(sandbox);
  }

  #lookIn(milliseconds: number): void {
    this.lookAgain = Math.min(this.lookAgain ?? Number.POSITIVE_INFINITY, milliseconds);
  }

  #latest({ name }: { readonly name: string }): Container | undefined {
    return this.#view.containers.get(name)?.[0];
  }

  #isOverdue(): boolean {
    const { pod, now } = this.#view;
    const { activeDeadlineSeconds } = pod.spec;
    if (activeDeadlineSeconds === undefined || pod.status?.startTime === undefined) return false;
    const left = Date.parse(pod.status.startTime) + Number(activeDeadlineSeconds) * 1000 - now;
    if (left > 0) {
      this.#lookIn(left);
      return false;
    }
    const message = "Pod was active on the node longer than the specified deadline";
    this.actions.push({ type: "fail", reason: "DeadlineExceeded", message });
    return true;
  }

  /**
   * Restarts all containers in their sandbox after one with such a rule has exited: kills running ones
   * without grace period or hooks, then removes all, so that init containers run again. Returns false
   * meanwhile. Each restart has a longer back-off, as after a crash.
   *
   * Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions (KEP-5532).
   */
  #restartsAll(): boolean {
    const { pod, memory, containers } = this.#view;
    if (!canRestartAll(pod.spec)) return true;
    if (!memory.restarting) {
      if (!this.#triggersRestart()) return true;
      this.actions.push({ type: "beginRestart" });
      return false;
    }
    const specs = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const running = this.#running(specs);
    for (const [spec, container] of running) this.#stop(spec, container, 0);
    if (running.length > 0) return false;
    const ends = [...containers.values()].flat().map(({ finishedAt, createdAt }) => finishedAt ?? createdAt);
    const ended = ends.reduce((a, b) => Math.max(a, b), 0);
    const { left } = memory.crashBackOff(restartingCondition, ended);
    if (left > 0) {
      this.#lookIn(left);
      return false;
    }
    const attempts = new Map<string, number>();
    for (const spec of specs) {
      const latest = this.#latest(spec);
      const attempt = latest === undefined ? attemptAfterReset(pod, spec) : latest.config.attempt + 1;
      if (attempt > 0) attempts.set(spec.name, attempt);
    }
    this.actions.push({ type: "reset", attempts, ended });
    return false;
  }

  /** Returns true if a container has exited whose rules restart all. */
  #triggersRestart(): boolean {
    const { spec } = this.#view.pod;
    return [...(spec.initContainers ?? []), ...spec.containers].some((one) => {
      const latest = this.#latest(one);
      return latest?.state === "exited" && restartsAllAfter(one, latest.exitCode ?? 0);
    });
  }

  /**
   * Returns true if all main containers, or an init container for good, have exited and are not restarted.
   */
  #finishedByItself(): boolean {
    const { pod } = this.#view;
    const over = (spec: ContainerSpec): boolean => {
      const latest = this.#latest(spec);
      return latest?.state === "exited" && !this.#restarts(spec, latest);
    };
    const failedInit = (pod.spec.initContainers ?? []).some(
      (spec) => !isSidecar(spec) && over(spec) && this.#latest(spec)?.exitCode !== 0,
    );
    return failedInit || pod.spec.containers.every(over);
  }

  #restarts(spec: ContainerSpec, container: Container): boolean {
    return this.#view.memory.replaced.has(container.id) || restarts(this.#view.pod, spec, container);
  }

  #runContainers(sandbox: Sandbox): void {
    const { pod, containers, probes } = this.#view;
    const here = ({ sandboxId }: Container): boolean => sandboxId === sandbox.id;
    const mainBegan = pod.spec.containers.some(({ name }) => containers.get(name)?.some(here));
    // Regardless of the others, since they serve to debug them.
    for (const spec of pod.spec.ephemeralContainers ?? []) this.#ensureStartedOnce(spec, sandbox);
    for (const spec of pod.spec.initContainers ?? []) {
      const latest = this.#latest(spec);
      if (isSidecar(spec)) {
        const running = this.#ensureRunning(spec, sandbox);
        if (!mainBegan && (running === undefined || !probes.started(running.id))) return;
        continue;
      }
      if (mainBegan) continue;
      if (latest?.state === "exited" && here(latest)) {
        if (latest.exitCode === 0) continue;
        if (!this.#restarts(spec, latest)) return;
      }
      // Init containers of an earlier sandbox run again.
      if (latest?.state === "exited" && !here(latest))
        this.#start(spec, sandbox, latest.config.attempt + 1, undefined);
      else this.#ensureRunning(spec, sandbox);
      return;
    }
    for (const spec of pod.spec.containers) this.#ensureRunning(spec, sandbox);
  }

  /** Ephemeral containers are never restarted (KEP-277). */
  #ensureStartedOnce(spec: EphemeralContainer, sandbox: Sandbox): void {
    const latest = this.#latest(spec);
    if (latest?.state === "created") this.actions.push({ type: "remove", container: latest });
    if (latest !== undefined && latest.state !== "created") return;
    this.#start(spec, sandbox, 0, undefined);
  }

  /** Starts a container, or restarts it by its policy. Returns the running container. */
  #ensureRunning(spec: ContainerSpec, sandbox: Sandbox): Container | undefined {
    const { pod, memory } = this.#view;
    const latest = this.#latest(spec);
    if (latest === undefined) {
      const attempt = memory.nextAttempts.get(spec.name) ?? attemptAfterReset(pod, spec);
      this.#start(spec, sandbox, attempt, undefined);
      return undefined;
    }
    if (latest.state === "created") {
      // Left by an agent that was killed before it started the container.
      this.actions.push({ type: "remove", container: latest });
      this.#start(spec, sandbox, latest.config.attempt, undefined);
      return undefined;
    }
    if (latest.state === "running") {
      this.#watchOver(spec, latest, sandbox);
      return latest;
    }
    if (!this.#restarts(spec, latest)) return undefined;
    const attempt = latest.config.attempt + 1;
    const finished = latest.finishedAt ?? latest.createdAt;
    const wait = memory.startWait(spec.name);
    const { left, delay } = memory.crashBackOff(crashKey(spec), finished);
    // The error of a failed start stays in the status until the next attempt, even after a crash.
    if (wait > 0) this.#lookIn(wait);
    else if (left > 0) {
      this.waiting.set(spec.name, {
        reason: "CrashLoopBackOff",
        message: `back-off ${durationText(BigInt(Math.round(delay * 1e6)))} restarting failed container=${spec.name} pod=${podText(pod)}`,
      });
      this.#lookIn(left);
    } else this.actions.push({ type: "start", spec, sandbox, attempt, crashedAt: finished });
    return undefined;
  }

  #start(spec: StartableContainer, sandbox: Sandbox, attempt: number, crashedAt: number | undefined): void {
    const wait = this.#view.memory.startWait(spec.name);
    if (wait > 0) this.#lookIn(wait);
    else this.actions.push({ type: "start", spec, sandbox, attempt, crashedAt });
  }

  #watchOver(spec: ContainerSpec, container: Container, sandbox: Sandbox): void {
    const { pod, memory, probes } = this.#view;
    if (memory.stopping.has(container.id)) return;
    this.actions.push({ type: "watch", spec, container, ip: sandbox.ips[0] ?? "" });
    const grace = Number(pod.spec.terminationGracePeriodSeconds ?? 30);
    const failed = probes.failed(container.id);
    if (container.config.hash !== containerHash(spec))
      this.#stop(spec, container, grace, {
        message: `Container ${spec.name} definition changed, will be restarted`,
        replace: true,
      });
    else if (failed !== undefined)
      this.#stop(spec, container, failed.graceSeconds ?? grace, {
        message: `Container ${spec.name} failed ${failed.type} probe, will be restarted`,
      });
  }

  /** Stops running containers, main containers before sidecars; then unprepares claims. */
  #end(): void {
    const { pod, memory, containers } = this.#view;
    if (memory.ended) return;
    const unstarted = [...containers.values()].flat().filter(({ state }) => state === "created");
    for (const container of unstarted) this.actions.push({ type: "remove", container });
    const sidecars = sidecarsOf(pod.spec).reverse();
    const others = allContainers(pod).filter((spec) => !sidecars.includes(spec as ContainerSpec));
    const first = this.#running(others);
    // One sidecar at a time, in reverse order (KEP-753).
    const last = sidecars.find((spec) => this.#running([spec]).length > 0);
    const now = first.length > 0 ? first : last === undefined ? [] : this.#running([last]);
    for (const [spec, container] of now)
      this.#stop(spec, container, memory.failure?.graceSeconds ?? graceOf(pod));
    if (now.length === 0) this.actions.push({ type: "cleanUp" });
  }

  #running(specs: readonly StartableContainer[]): [StartableContainer, Container][] {
    return specs.flatMap((spec) =>
      (this.#view.containers.get(spec.name) ?? [])
        .filter(({ state }) => state === "running")
        .map((container): [StartableContainer, Container] => [spec, container]),
    );
  }

  /** Not repeated for a container that is being stopped, unless its grace period is shorter now. */
  #stop(
    spec: StartableContainer,
    container: Container,
    graceSeconds: number,
    reason: { readonly message?: string; readonly replace?: boolean } = {},
  ): void {
    const { message = `Stopping container ${spec.name}`, replace = false } = reason;
    const { now, memory } = this.#view;
    const until = memory.stopping.get(container.id);
    if (until !== undefined && until <= now + graceSeconds * 1000) return;
    this.actions.push({ type: "stop", spec, container, graceSeconds, message, replace });
  }
}
