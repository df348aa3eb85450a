import { Quantity } from "@dray/api";
import type { Pod, PodStatus } from "@dray/api/core/v1";
import { podLimits, podRequests } from "@dray/api/pod";
import type { ResourceConfig } from "../runtime/config.ts";
import type { BoundsOptions } from "./resource-config.ts";

/** Bounds of a pod as a whole. */
export interface WholePod {
  /** Bounds of its sandbox. */
  readonly bounds: ResourceConfig;
  readonly options: BoundsOptions;
}

type Amounts = Readonly<Record<string, string>>;

/** Weights and quotas up to these stand for none: they are the kernel's minimum. */
const minMilliCpu = { requests: 2, limits: 10 } as const;

/**
 * Returns allocated and actual resources of a pod as a whole (KEP-5419).
 *
 * Upstream: pkg/kubelet/kubelet_pods.go, generateAPIPodStatus, convertToAPIPodLevelResourcesStatus.
 */
export function podLevelStatus(
  pod: Pod,
  { bounds, options }: WholePod,
): Pick<PodStatus, "resources" | "allocatedResources"> {
  const requests = amounts(podRequests(pod, options));
  const given = pod.spec.resources ?? {};
  const resources =
    pod.status?.phase === "Running"
      ? {
          ...given,
          requests: {
            ...(requests["memory"] !== undefined && { memory: requests["memory"] }),
            ...given.requests,
            ...cpu("requests", cpuOfShares(bounds), given.requests),
          },
          limits: {
            ...given.limits,
            ...cpu("limits", cpuOfQuota(bounds), given.limits),
            ...(bounds.memoryLimitBytes !== undefined && {
              memory: Quantity.of(bounds.memoryLimitBytes, "BinarySI").toString(),
            }),
          },
        }
      : { ...given, requests, limits: amounts(podLimits(pod, options)) };
  return {
    resources: withoutEmpty(resources),
    ...(Object.keys(requests).length > 0 && { allocatedResources: requests }),
  };
}

/** Upstream: pkg/kubelet/cm/helpers_linux.go, SharesToMilliCPU. */
const cpuOfShares = ({ cpuShares }: ResourceConfig): number | undefined =>
  cpuShares === undefined ? undefined : Math.ceil((cpuShares * 1000) / 1024);

const cpuOfQuota = ({ cpuQuota, cpuPeriod = 100_000 }: ResourceConfig): number | undefined =>
  cpuQuota === undefined ? undefined : Math.floor((cpuQuota * 1000) / cpuPeriod);

function cpu(side: "requests" | "limits", milli: number | undefined, given: Amounts = {}): Amounts {
  const own = given["cpu"] === undefined ? 0 : Number(Quantity.parse(given["cpu"]).milliValue());
  if (milli === undefined || milli === own || Math.max(milli, own) <= minMilliCpu[side]) return {};
  return { cpu: Quantity.parse(`${milli}m`).toString() };
}

const amounts = (all: ReadonlyMap<string, Quantity>): Amounts =>
  Object.fromEntries([...all].map(([name, quantity]) => [name, quantity.toString()]));

const withoutEmpty = <T extends { readonly requests: Amounts; readonly limits: Amounts }>({
  requests,
  limits,
  ...rest
}: T) => ({
  ...rest,
  ...(Object.keys(requests).length > 0 && { requests }),
  ...(Object.keys(limits).length > 0 && { limits }),
});
