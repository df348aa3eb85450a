import type { KubernetesVersion } from "@dray/api";
import type { Plugin } from "../../framework/framework.ts";
import type { PluginArgs } from "../args.ts";
import { balanceScorer, type DeviceTotals, requestList, resourceScorer } from "./scoring.ts";

const name = "NodeResourcesBalancedAllocation";

/**
 * Prefers nodes whose resources are used in equal parts, by what is requested, without assumptions. Has no
 * say about pods that request none of them.
 *
 * Upstream: plugins/noderesources/balanced_allocation.go
 */
export function nodeResourcesBalancedAllocation(
  { resources }: PluginArgs["NodeResourcesBalancedAllocation"],
  version: KubernetesVersion,
  deviceTotals?: DeviceTotals,
): Plugin {
  const assumed = { assumed: false };
  const scoreOf = resourceScorer(resources, balanceScorer(version), { ...assumed, deviceTotals });
  return {
    name,
    preScore(state, pod) {
      const requests = requestList(pod, resources, assumed);
      if (requests.every((request) => request === 0)) return "skip";
      state.set(name, requests);
      return undefined;
    },
    score: (state, _pod, node) => scoreOf(state.get(name) as Float64Array, node),
    mayHelp: () => false,
  };
}
