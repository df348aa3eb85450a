import { humanDuration } from "@dray/api";
import type { ContainerStatus, Pod } from "@dray/api/core/v1";
import { isPodTerminal, isSidecar } from "@dray/api/pod";
import { ageText } from "../../../tables/age.ts";
import { columns, none, type Printer, wide } from "../../../tables/column.ts";

/** Number of restarts of containers, and the time at which one last ended. */
class Restarts {
  count = 0;
  last = 0;

  add(status: ContainerStatus): void {
    this.count += status.restartCount ?? 0;
    const ended = status.lastState?.terminated?.finishedAt;
    if (ended) this.last = Math.max(this.last, Date.parse(ended));
  }

  text(now: number): string {
    if (this.count === 0 || this.last === 0) return String(this.count);
    return `${this.count} (${humanDuration(now - this.last)} ago)`;
  }
}

function endText(ended: {
  readonly reason?: string;
  readonly signal?: number;
  readonly exitCode?: number;
}): string {
  if (ended.reason) return ended.reason;
  return ended.signal ? `Signal:${ended.signal}` : `ExitCode:${ended.exitCode ?? 0}`;
}

function trueConditions(pod: Pod): ReadonlySet<string> {
  return new Set(
    (pod.status?.conditions ?? []).filter(({ status }) => status === "True").map(({ type }) => type),
  );
}

/** Returns the columns READY, STATUS and RESTARTS of a pod. */
function summary(pod: Pod): { ready: number; total: number; reason: string; restarts: Restarts } {
  const { spec, status } = pod;
  const initContainers = spec?.initContainers ?? [];
  const sidecars = new Set(initContainers.filter(isSidecar).map(({ name }) => name));
  const total = (spec?.containers ?? []).length + initContainers.filter(isSidecar).length;
  let reason = status?.reason || status?.phase || "";
  if (
    (status?.conditions ?? []).some(
      ({ type, reason: why }) => type === "PodScheduled" && why === "SchedulingGated",
    )
  ) {
    reason = "SchedulingGated";
  }
  let ready = 0;
  let restarts = new Restarts();
  const sidecarRestarts = new Restarts();
  let waiting: string | undefined;
  const statuses = status?.initContainerStatuses ?? [];
  for (const [index, container] of statuses.entries()) {
    const sidecar = sidecars.has(container.name);
    restarts.add(container);
    if (sidecar) sidecarRestarts.add(container);
    const ended = container.state?.terminated;
    if (ended && (ended.exitCode ?? 0) === 0) continue;
    if (sidecar && container.started) {
      if (container.ready) ready++;
      continue;
    }
    const why = container.state?.waiting?.reason;
    if (ended) waiting = `Init:${endText(ended)}`;
    else if (why && why !== "PodInitializing") waiting = `Init:${why}`;
    else waiting = `Init:${index}/${initContainers.length}`;
    break;
  }
  if (waiting !== undefined) reason = waiting;
  if (waiting === undefined || trueConditions(pod).has("Initialized")) {
    // Once the pod is initialized, the restarts of its ordinary init containers no longer count.
    restarts = sidecarRestarts;
    let running = false;
    for (const container of [...(status?.containerStatuses ?? [])].reverse()) {
      restarts.add(container);
      const { waiting: held, terminated } = container.state ?? {};
      if (held?.reason) reason = held.reason;
      else if (terminated) reason = endText(terminated);
      else if (container.ready && container.state?.running) {
        running = true;
        ready++;
      }
    }
    if (reason === "Completed" && running) reason = trueConditions(pod).has("Ready") ? "Running" : "NotReady";
  }
  if (pod.metadata.deletionTimestamp) {
    if (status?.reason === "NodeLost") reason = "Unknown";
    else if (!isPodTerminal(pod)) reason = "Terminating";
  }
  return { ready, total, reason, restarts };
}

function readinessGates(pod: Pod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return none;
  const holds = trueConditions(pod);
  return `${gates.filter(({ conditionType }) => holds.has(conditionType)).length}/${gates.length}`;
}

export const podColumns: Printer<Pod> = {
  columns: [
    ...columns("Name", "Ready", "Status", "Restarts", "Age"),
    ...wide("IP", "Node", "Nominated Node", "Readiness Gates"),
  ],
  cells(pod, now) {
    const { ready, total, reason, restarts } = summary(pod);
    return [
      pod.metadata.name,
      `${ready}/${total}`,
      reason,
      restarts.text(now),
      ageText(pod.metadata.creationTimestamp, now),
      pod.status?.podIPs?.[0]?.ip || pod.status?.podIP || none,
      pod.spec?.nodeName || none,
      pod.status?.nominatedNodeName || none,
      readinessGates(pod),
    ];
  },
  // Clients can hide pods that have ended by this condition.
  conditions(pod) {
    if (!isPodTerminal(pod)) return [];
    const phase = pod.status?.phase ?? "";
    const message = phase === "Succeeded" ? "The pod has completed successfully." : "The pod failed.";
    return [{ type: "Completed", status: "True", reason: phase, message }];
  },
};
