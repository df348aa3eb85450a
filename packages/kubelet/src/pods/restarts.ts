import type { Container as ContainerSpec, Pod } from "@dray/api/core/v1";
import { isSidecar, restartsAfter, restartsAllAfter } from "@dray/api/pod";
import type { Container } from "../runtime/service.ts";
import { restartingCondition } from "../status/conditions.ts";
import { wasReset } from "../status/container-status.ts";

/** True if a container that ended like this is started again. */
export function restarts(pod: Pod, spec: ContainerSpec, { exitCode }: Container): boolean {
  // Not alone, but with all the others.
  if (restartsAllAfter(spec, exitCode ?? 0)) return false;
  const init = (pod.spec.initContainers ?? []).find(({ name }) => name === spec.name);
  if (init !== undefined && !isSidecar(init) && exitCode === 0) return false;
  return restartsAfter(pod.spec, spec, exitCode ?? 0);
}

/** The attempt of a container of which the runtime has none: not the first if it was removed to be restarted. */
export function attemptAfterReset(pod: Pod, { name }: ContainerSpec): number {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const status = statuses.find((one) => one.name === name);
  if (status === undefined) return 0;
  // An agent may have been killed after it had removed them, and before it could report that.
  const removed = wasReset(status) || (isRestarting(pod) && status.containerID !== undefined);
  return Number(status.restartCount) + (removed ? 1 : 0);
}

/** True while all containers of the pod are restarted, as its status says (KEP-5532). */
export function isRestarting({ status }: Pod): boolean {
  return (status?.conditions ?? []).some((one) => one.type === restartingCondition && one.status === "True");
}
