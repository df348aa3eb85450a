import type { Container as ContainerSpec, Pod } from "@dray/api/core/v1";
import { isSidecar, restartsAfter, restartsAllAfter } from "@dray/api/pod";
import type { Container } from "../runtime/service.ts";
import { restartingCondition } from "../status/conditions.ts";
import { wasReset } from "../status/container-status.ts";

/** Returns true if a container that ended like this is restarted. */
export function restarts(pod: Pod, spec: ContainerSpec, { exitCode }: Container): boolean {
  // It restarts with all the others.
  if (restartsAllAfter(spec, exitCode ?? 0)) return false;
  const init = (pod.spec.initContainers ?? []).find(({ name }) => name === spec.name);
  if (init !== undefined && !isSidecar(init) && exitCode === 0) return false;
  return restartsAfter(pod.spec, spec, exitCode ?? 0);
}

/** Attempt of a container that the runtime does not have: above 0 if it was removed to be restarted. */
export function attemptAfterReset(pod: Pod, { name }: ContainerSpec): number {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const status = statuses.find((one) => one.name === name);
  if (status === undefined) return 0;
  // The agent may have been killed after the removal, before its report.
  const removed = wasReset(status) || (isRestarting(pod) && status.containerID !== undefined);
  return Number(status.restartCount) + (removed ? 1 : 0);
}

/** True while all containers of the pod are restarted, by its status (KEP-5532). */
export function isRestarting({ status }: Pod): boolean {
  return (status?.conditions ?? []).some((one) => one.type === restartingCondition && one.status === "True");
}
