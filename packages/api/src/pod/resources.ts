import { type KubernetesVersion, kubernetesVersions } from "../features/features.ts";
import type {
  Container,
  ContainerStatus,
  NodeAllocatableResourceClaimStatus,
  Pod,
  PodSpec,
  PodStatus,
} from "../generated/core/v1.ts";
import { type Amounts, addTo, amountsOf, raiseTo } from "../values/amounts.ts";
import { Quantity } from "../values/quantity.ts";
import { isSidecar } from "./containers.ts";

/** `requests` or `limits` of a container or pod. */
export type ResourceSide = "requests" | "limits";

/** Amounts to count; by default those of containers, pod-level resources and overhead in the spec. */
export interface PodResourceOptions {
  /**
   * Counts also the report of the node while containers are resized (KEP-1287), by the rules of this release:
   * the largest of the wanted, allocated and actuated resources.
   */
  readonly useStatus?: KubernetesVersion;
  /** With `useStatus`: also the report of the node on the pod as a whole (KEP-5419); since 1.36. */
  readonly usePodStatus?: boolean;
  /**
   * Counts the resources of the node that the devices of its claims take (KEP-5517):
   * `status.nodeAllocatableResourceClaimStatuses`.
   */
  readonly useClaims?: boolean;
  /** False: without the overhead of the pod's runtime class. */
  readonly overhead?: boolean;
  /** Amounts for a container that does not request these resources; for scores. */
  readonly missing?: Amounts;
}

type PodResourceFields = { readonly spec: PodSpec; readonly status?: PodStatus | undefined };

/**
 * Resources that a pod may ask for as a whole (KEP-2837).
 * Upstream: k8s.io/component-helpers/resource/helpers.go, IsSupportedPodLevelResource.
 */
export function isPodLevelResource(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith("hugepages-");
}

/**
 * Whether the pod has resources of its own, so that its containers need none. Upstream:
 * IsPodLevelResourcesSet.
 */
export function hasPodLevelResources({ spec }: Pick<Pod, "spec">): boolean {
  return names(spec?.resources?.requests).concat(names(spec?.resources?.limits)).some(isPodLevelResource);
}

/** Upstream: IsPodLevelRequestsSet. */
export function hasPodLevelRequests({ spec }: Pick<Pod, "spec">): boolean {
  return names(spec?.resources?.requests).some(isPodLevelResource);
}

/**
 * Requests of a pod: the sum of its containers and sidecars, or the maximum while it starts (KEP-753);
 * pod-level requests in their place (KEP-2837); and its overhead.
 * Upstream: k8s.io/component-helpers/resource/helpers.go, PodRequests.
 */
export function podRequests(pod: PodResourceFields, options: PodResourceOptions = {}): Amounts {
  const total = containerTotal(pod, "requests", options);
  if (hasPodLevelRequests(pod)) setPodLevel(total, pod, "requests", options);
  if (options.overhead !== false) addTo(total, amountsOf(pod.spec?.overhead));
  return total;
}

/** The limits of a pod. Overhead counts only where there is a limit. Upstream: PodLimits. */
export function podLimits(pod: PodResourceFields, options: PodResourceOptions = {}): Amounts {
  const total = containerTotal(pod, "limits", options);
  if (hasPodLevelResources(pod)) setPodLevel(total, pod, "limits", options);
  if (options.overhead === false) return total;
  for (const [name, quantity] of amountsOf(pod.spec?.overhead)) {
    const limit = total.get(name);
    if (limit !== undefined && limit.sign !== 0) total.set(name, limit.add(quantity));
  }
  return total;
}

/**
 * The part of it that follows from containers. Upstream: AggregateContainerRequests,
 * AggregateContainerLimits.
 */
export function containerTotal(
  pod: PodResourceFields,
  side: ResourceSide,
  options: Pick<PodResourceOptions, "useStatus" | "usePodStatus" | "useClaims" | "missing"> = {},
): Amounts {
  const missing = side === "requests" ? options.missing : undefined;
  const sum = (amounts: ContainerAmounts): Amounts =>
    aggregate(pod.spec, (container, init) => withMissing(amounts(container, init), missing));
  const claimed = (total: Amounts): Amounts => (options.useClaims ? withClaims(total, pod, side) : total);
  if (options.useStatus === undefined) return claimed(sum(({ resources }) => amountsOf(resources?.[side])));
  return comparesTotals(options.useStatus)
    ? largestTotal(pod, side, { sum, claimed }, options.usePodStatus === true)
    : claimed(sum(largestOfEach(pod, side)));
}

/**
 * Adds the resources that the devices of claims take. A limit only where the spec has one, but for huge
 * pages, which are never overcommitted. Upstream: addDRANodeAllocatableClaimResources,
 * addDRANodeAllocatableLimits.
 */
function withClaims(total: Amounts, { status }: PodResourceFields, side: ResourceSide): Amounts {
  const add = (name: string, text: string | undefined, times = 1): void => {
    if (text === undefined || times === 0) return;
    if (side === "limits" && !total.has(name) && !name.startsWith("hugepages-")) return;
    addTo(total, new Map([[name, Quantity.parse(text).multiply(times)]]));
  };
  for (const { containers = [], mapping = [], overhead = [] } of claimStatuses(status)) {
    for (const { name, quantity } of mapping) add(name, quantity);
    for (const { name, perPod, perContainer } of overhead) {
      add(name, perPod);
      add(name, perContainer, containers.length);
    }
  }
  return total;
}

const claimStatuses = (status: PodResourceFields["status"]): readonly NodeAllocatableResourceClaimStatus[] =>
  status?.nodeAllocatableResourceClaimStatuses ?? [];

/**
 * Node resources that the devices of claims consume for one container. Upstream: GetContainerDRAAllocations.
 */
export function claimsOfContainer({ status }: Pick<Pod, "status">, container: string): Amounts {
  const total: Amounts = new Map();
  const add = (name: string, text: string | undefined): void => {
    if (text !== undefined) addTo(total, new Map([[name, Quantity.parse(text)]]));
  };
  for (const { containers = [], mapping = [], overhead = [] } of claimStatuses(status)) {
    if (!containers.includes(container)) continue;
    for (const { name, quantity } of mapping) add(name, quantity);
    for (const { name, perPod, perContainer } of overhead) {
      add(name, perPod);
      add(name, perContainer);
    }
  }
  return total;
}

type ContainerAmounts = (container: Container, init: boolean) => Amounts;

/** From 1.37 on the sums over all containers are compared, before it the amounts of each container. */
function comparesTotals(version: KubernetesVersion): boolean {
  return kubernetesVersions.indexOf(version) >= kubernetesVersions.indexOf("1.37");
}

/** Until 1.36; init containers that are not sidecars could not be resized then. */
function largestOfEach(pod: PodResourceFields, side: ResourceSide): ContainerAmounts {
  const infeasible = isResizeInfeasible(pod);
  const statuses = statusesOf(pod);
  return (container, init) => {
    const wanted = amountsOf(container.resources?.[side]);
    const status = statuses.get(container.name);
    if (!status?.resources || (init && !isSidecar(container))) return wanted;
    const max: Amounts = infeasible ? new Map() : wanted;
    raiseTo(max, amountsOf(status.resources[side]));
    if (side === "requests") raiseTo(max, amountsOf(status.allocatedResources));
    return max;
  };
}

function largestTotal(
  pod: PodResourceFields,
  side: ResourceSide,
  {
    sum,
    claimed,
  }: { readonly sum: (amounts: ContainerAmounts) => Amounts; readonly claimed: (total: Amounts) => Amounts },
  usePodStatus: boolean,
): Amounts {
  const infeasible = isResizeInfeasible(pod);
  const statuses = statusesOf(pod);
  const wanted: ContainerAmounts = ({ resources }) => amountsOf(resources?.[side]);
  const max: Amounts = infeasible ? new Map() : claimed(sum(wanted));
  const whole = usePodStatus ? pod.status : undefined;
  const actuated = whole?.resources?.[side];
  if (actuated && (side === "limits" || whole?.allocatedResources)) {
    raiseTo(max, amountsOf(actuated));
    if (side === "requests") raiseTo(max, amountsOf(whole?.allocatedResources));
    return max;
  }
  /** The first list that the node has reported for a container, else what the container is about to get. */
  const known = (container: Container, ...lists: (List | undefined)[]): Amounts =>
    amountsOf(lists.find(Boolean) ?? (infeasible ? {} : container.resources?.[side]));
  const allocated = ({ name }: Container): List | undefined =>
    side === "requests" ? statuses.get(name)?.allocatedResources : undefined;
  raiseTo(
    max,
    sum((container) =>
      known(container, statuses.get(container.name)?.resources?.[side], allocated(container)),
    ),
  );
  // In the report of the node, only this lacks the claims.
  if (side === "requests") raiseTo(max, claimed(sum((container) => known(container, allocated(container)))));
  return max;
}

type List = Readonly<Record<string, string>>;

/** The sum over containers and sidecars, or the maximum while the pod starts. */
function aggregate(spec: PodSpec, amounts: ContainerAmounts): Amounts {
  const total: Amounts = new Map();
  // A required list that is missing is read as null.
  for (const container of spec?.containers ?? []) addTo(total, amounts(container, false));
  const sidecars: Amounts = new Map();
  const starting: Amounts = new Map();
  for (const container of spec?.initContainers ?? []) {
    const own = amounts(container, true);
    if (isSidecar(container)) {
      addTo(total, own);
      addTo(sidecars, own);
      raiseTo(starting, sidecars);
    } else {
      addTo(own, sidecars);
      raiseTo(starting, own);
    }
  }
  raiseTo(total, starting);
  return total;
}

function setPodLevel(
  total: Amounts,
  { spec, status }: PodResourceFields,
  side: ResourceSide,
  { useStatus, usePodStatus }: PodResourceOptions,
): void {
  const own = amountsOf(spec.resources?.[side]);
  let effective = own;
  const infeasible = isResizeInfeasible({ status });
  // Until 1.36 limits that are not reported were those of the spec, feasible or not.
  const unreported =
    infeasible && side === "limits" && !status?.resources?.limits && !comparesTotals(useStatus ?? "1.37");
  if (useStatus !== undefined && usePodStatus && status?.resources && !unreported) {
    effective = infeasible ? new Map() : new Map(own);
    raiseTo(effective, amountsOf(status.resources[side]));
    if (side === "requests") raiseTo(effective, amountsOf(status.allocatedResources));
    if (!comparesTotals(useStatus))
      effective = new Map([...own.keys()].map((name) => [name, effective.get(name) ?? Quantity.of(0)]));
  }
  for (const [name, quantity] of effective) if (isPodLevelResource(name)) total.set(name, quantity);
}

function isResizeInfeasible({ status }: Pick<PodResourceFields, "status">): boolean {
  return status?.conditions?.find(({ type }) => type === "PodResizePending")?.reason === "Infeasible";
}

/** The first of a name counts. */
function statusesOf({ status }: PodResourceFields): Map<string, ContainerStatus> {
  const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return new Map(all.reverse().map((one) => [one.name, one]));
}

function withMissing(amounts: Amounts, missing: Amounts | undefined): Amounts {
  for (const [name, quantity] of missing ?? []) if (!amounts.has(name)) amounts.set(name, quantity);
  return amounts;
}

function names(list: Readonly<Record<string, string>> | undefined): string[] {
  return Object.keys(list ?? {});
}
