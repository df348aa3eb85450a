import type { ResourceClaim } from "@dray/api/resource/v1";
import type { Sample } from "../shared/metrics.ts";
import { podClaimAnnotation } from "./names.ts";

/** Marks a claim that the scheduler made for a pod's extended resources. */
const extendedResourceAnnotation = "resource.kubernetes.io/extended-resource-claim";

/**
 * Returns how many claims there are of each sort. Upstream: pkg/controller/resourceclaim/controller.go,
 * customCollector.
 */
export function countClaims(claims: Iterable<ResourceClaim>): Sample[] {
  const counts = new Map<string, Sample>();
  for (const { metadata, spec, status } of claims) {
    const requests = spec.devices?.requests ?? [];
    const labels = {
      allocated: String(status?.allocation !== undefined),
      admin_access: String(requests.some(({ exactly }) => exactly?.adminAccess === true)),
      source: sourceOf(metadata.annotations ?? {}),
    };
    const key = Object.values(labels).join();
    counts.set(key, { labels, value: (counts.get(key)?.value ?? 0) + 1 });
  }
  return [...counts.values()];
}

function sourceOf(annotations: Readonly<Record<string, string>>): string {
  if (annotations[extendedResourceAnnotation] === "true") return "extended_resource";
  return annotations[podClaimAnnotation] ? "resource_claim_template" : "";
}
