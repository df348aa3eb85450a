import {
  countEvaluator,
  type QuotaEvaluator,
  type QuotaLookup,
  type QuotaOptions,
} from "../kinds/quota-evaluator.ts";
import { kindDefinitions } from "../kinds/registry.ts";

/**
 * Returns a function that finds the evaluator of a resource, built in or custom; undefined where quotas do
 * not count the resource.
 */
export function quotaEvaluators(
  lookup: QuotaLookup,
  options: QuotaOptions,
): (group: string, resource: string) => QuotaEvaluator | undefined {
  const evaluators = new Map<string, QuotaEvaluator | undefined>();
  for (const { type, quota } of kindDefinitions) {
    if (quota === undefined) continue;
    evaluators.set(`${type.group}/${type.resource}`, quota === false ? undefined : quota(lookup, options));
  }
  return (group, resource) => {
    const key = `${group}/${resource}`;
    if (!evaluators.has(key)) evaluators.set(key, countEvaluator(group, resource));
    return evaluators.get(key);
  };
}
