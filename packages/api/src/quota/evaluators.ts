import { countEvaluator, type QuotaEvaluator, type QuotaLookup } from "./evaluator.ts";
import { volumeClaimEvaluator } from "./persistent-volume-claims.ts";
import { podEvaluator } from "./pods.ts";
import { claimEvaluator } from "./resource-claims.ts";
import { serviceEvaluator } from "./services.ts";

/** Resources that no quota counts. */
const ignored = new Set(["/events", "events.k8s.io/events", "/bindings"]);

/** The evaluator of any resource, also of custom ones; undefined for what quotas leave alone. */
export function quotaEvaluators(
  lookup: QuotaLookup,
  options: { readonly extendedResources: boolean },
): (group: string, resource: string) => QuotaEvaluator | undefined {
  const known = new Map<string, QuotaEvaluator>([
    ["/pods", podEvaluator(lookup)],
    ["/services", serviceEvaluator],
    ["/persistentvolumeclaims", volumeClaimEvaluator],
    ["resource.k8s.io/resourceclaims", claimEvaluator(lookup, options.extendedResources)],
  ]);
  return (group, resource) => {
    const key = `${group}/${resource}`;
    if (ignored.has(key)) return undefined;
    let evaluator = known.get(key);
    if (evaluator === undefined) {
      evaluator = countEvaluator(group, resource);
      known.set(key, evaluator);
    }
    return evaluator;
  };
}
