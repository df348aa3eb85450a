import { type KubernetesVersion, minorOf } from "../features/features.ts";
import type { PodSpec } from "../generated/core/v1.ts";
import type { Amounts } from "../values/amounts.ts";
import { Quantity } from "../values/quantity.ts";
import { containerTotal, isPodLevelResource } from "./resources.ts";

type List = Record<string, string>;

const isHugePages = (name: string): boolean => name.startsWith("hugepages-");

/**
 * Completes the resources of a pod by those of its containers (KEP-2837): limits of huge pages, then
 * requests, and from 1.37 on limits where all containers have one.
 *
 * Until 1.36 a default, so that it comes before admission; from 1.37 on the server does it after admission
 * has added its containers (PodLevelResourcesFixDefaulting).
 *
 * Upstream: pkg/apis/core/v1/defaults.go, defaultPodRequests; pkg/api/pod/util.go, DefaultPodLevelResources.
 */
export function defaultPodLevelResources(spec: PodSpec, version: KubernetesVersion): void {
  const { resources } = spec;
  if (!resources) return;
  const requests: List = { ...resources.requests };
  const limits: List = { ...resources.limits };
  const hadLimits = Object.keys(limits).length > 0;
  if (!hadLimits && Object.keys(requests).length === 0) return;
  const fixed = minorOf(version) >= 37;
  const containerLimits = containerTotal({ spec }, "limits");
  for (const [name, quantity] of containerLimits)
    if (isHugePages(name) && requests[name] === undefined) limits[name] ??= quantity.toString();
  if (fixed || Object.keys(limits).length > 0)
    addRequests(requests, limits, containerTotal({ spec }, "requests"));
  if (fixed) addLimits(requests, limits, spec, containerLimits);
  if (Object.keys(requests).length > 0) resources.requests = requests;
  if (Object.keys(limits).length > 0) resources.limits = limits;
}

function addRequests(requests: List, limits: Readonly<List>, ofContainers: Amounts): void {
  for (const [name, quantity] of ofContainers)
    if (isPodLevelResource(name) && !isHugePages(name)) requests[name] ??= quantity.toString();
  for (const [name, limit] of Object.entries(limits)) if (isPodLevelResource(name)) requests[name] ??= limit;
}

/** The larger of the request of the pod and the limits of its containers, where each of them has a limit. */
function addLimits(
  requests: Readonly<List>,
  limits: List,
  { containers, initContainers }: PodSpec,
  ofContainers: Amounts,
): void {
  const all = [...(initContainers ?? []), ...(containers ?? [])];
  for (const [name, request] of Object.entries(requests)) {
    if (!isPodLevelResource(name) || limits[name] !== undefined) continue;
    const total = ofContainers.get(name);
    if (total === undefined || !all.every(({ resources }) => resources?.limits?.[name] !== undefined))
      continue;
    limits[name] = Quantity.parse(request).compare(total) > 0 ? request : total.toString();
  }
}
