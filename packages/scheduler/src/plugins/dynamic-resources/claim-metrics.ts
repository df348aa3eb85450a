import type { Features } from "@dray/api";
import { exponentialBuckets, type MetricsRegistry } from "@dray/client";
import type { ClaimMetrics } from "./claim-binding.ts";

/**
 * Counters of DynamicResources, by profile. Claims that are made for extended resources have another name
 * until 1.36.
 * Upstream: pkg/scheduler/metrics/metrics.go, dynamic-resource-allocation/resourceclaim/metrics.
 */
export function claimMetrics(
  registry: MetricsRegistry,
  { version }: Features,
): (profile: string) => ClaimMetrics {
  const allocations = registry.counter(
    "scheduler_dra_bindingconditions_allocations_total",
    "Number of allocations using devices with BindingConditions, counted per driver per scheduling attempt",
    ["profile", "driver", "status"],
  );
  const wait = registry.histogram(
    "scheduler_dra_bindingconditions_wait_duration_seconds",
    "Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
    exponentialBuckets(0.1, 2, 14),
    ["profile", "driver", "status"],
  );
  const isShared = version >= "1.37";
  const creates = isShared
    ? registry.counter(
        "dynamic_resource_allocation_resourceclaim_creates_total",
        "Number of ResourceClaims creation requests, categorized by creation status, admin access, and owning API group and kind (either Pod or scheduling.k8s.io/PodGroup)",
        ["status", "admin_access", "owner_api_group", "owner_api_kind"],
      )
    : registry.counter(
        "scheduler_resourceclaim_creates_total",
        "Number of ResourceClaims creation requests within scheduler",
        ["status"],
      );
  return (profile) => ({
    created: (status) => creates.add(isShared ? [status, "false", "", "Pod"] : [status]),
    waited(claims, status, milliseconds) {
      for (const claim of claims)
        for (const { driver, bindingConditions } of claim.status?.allocation?.devices?.results ?? []) {
          wait.observe(milliseconds / 1000, [profile, driver, status]);
          if (bindingConditions?.length) allocations.add([profile, driver, status]);
        }
    },
  });
}
