import type { Container, ContainerStatus, Pod } from "../generated/core/v1.ts";
import { isSidecar } from "../pod/containers.ts";
import { type Amounts, addTo, amountsOf, raiseTo } from "./amounts.ts";

export type Side = "requests" | "limits";

/** Resources that a pod may ask for as a whole (KEP-2837). */
export const isPodLevel = (name: string): boolean =>
  name === "cpu" || name === "memory" || name.startsWith("hugepages-");

/** Whether the pod itself says what it takes, so that its containers need not. */
export function hasPodLevelResources({ spec }: Pod): boolean {
  const { requests = {}, limits = {} } = spec?.resources ?? {};
  return [...Object.keys(requests), ...Object.keys(limits)].some(isPodLevel);
}

/** What a pod requests as a whole: its containers, init containers and sidecars (KEP-753), its overhead. */
export function podRequests(pod: Pod): Amounts {
  const total = ofContainers(pod, "requests");
  setPodLevel(total, pod, "requests");
  addTo(total, amountsOf(pod.spec?.overhead));
  return total;
}

/** What a pod may use at most. Overhead counts only where there is a limit. */
export function podLimits(pod: Pod): Amounts {
  const total = ofContainers(pod, "limits");
  setPodLevel(total, pod, "limits");
  for (const [name, quantity] of amountsOf(pod.spec?.overhead)) {
    const limit = total.get(name);
    if (limit !== undefined && limit.sign !== 0) total.set(name, limit.add(quantity));
  }
  return total;
}

function setPodLevel(total: Amounts, { spec }: Pod, side: Side): void {
  for (const [name, quantity] of amountsOf(spec?.resources?.[side])) {
    if (isPodLevel(name)) total.set(name, quantity);
  }
}

/** The sum over containers and sidecars, or the most that is taken while the pod starts. */
export function ofContainers(pod: Pick<Pod, "spec" | "status">, side: Side): Amounts {
  // A required list that is missing is read as null.
  const containers: readonly Container[] = pod.spec?.containers ?? [];
  const initContainers: readonly Container[] = pod.spec?.initContainers ?? [];
  const total: Amounts = new Map();
  for (const container of containers) {
    addTo(total, effective(container, pod, pod.status?.containerStatuses, side));
  }
  const sidecars: Amounts = new Map();
  const starting: Amounts = new Map();
  for (const container of initContainers) {
    if (isSidecar(container)) {
      const own = effective(container, pod, pod.status?.initContainerStatuses, side);
      addTo(total, own);
      addTo(sidecars, own);
      raiseTo(starting, sidecars);
    } else {
      const own = amountsOf(container.resources?.[side]);
      addTo(own, sidecars);
      raiseTo(starting, own);
    }
  }
  raiseTo(total, starting);
  return total;
}

/** While a resize is under way the larger of what is wanted and what is still held counts (KEP-1287). */
function effective(
  { name, resources }: Container,
  pod: Pick<Pod, "status">,
  statuses: readonly ContainerStatus[] | undefined,
  side: Side,
): Amounts {
  const wanted = amountsOf(resources?.[side]);
  const status = statuses?.find((candidate) => candidate.name === name);
  if (status?.resources === undefined) return wanted;
  const resize = pod.status?.conditions?.find(({ type }) => type === "PodResizePending");
  const held = amountsOf(status.resources[side]);
  if (resize?.reason !== "Infeasible") raiseTo(held, wanted);
  if (side === "requests") raiseTo(held, amountsOf(status.allocatedResources));
  return held;
}
