import type { Pod } from "@dray/api/core/v1";
import type { ExtensionPoints } from "../framework/extension-points.ts";
import type { CycleState, PreFilterResult, Rejection } from "../framework/framework.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import type { SchedulerMetrics, Status } from "../metrics/scheduler-metrics.ts";

/** Result of the PreFilter plugins. */
export interface PreFiltered {
  readonly upfront?: Rejection;
  readonly allowed?: ReadonlySet<string>;
  readonly narrowing: readonly string[];
  readonly first?: ReadonlySet<string>;
}

/** Metrics of a cycle. `sampled`: the time of each plugin is measured. */
export interface Measurement {
  readonly metrics: SchedulerMetrics;
  readonly profile: string;
  readonly sampled: boolean;
}

/**
 * A rejection that other pods could lift does not end PreFilter: a trial with fewer pods needs what every
 * plugin has found.
 * Upstream: pkg/scheduler/framework/runtime/framework.go, RunPreFilterPlugins.
 */
export function runPreFilter(
  plugins: ExtensionPoints["preFilter"],
  { metrics, profile, sampled }: Measurement,
  {
    state,
    pod,
    nodes,
  }: { readonly state: CycleState; readonly pod: Pod; readonly nodes: readonly NodeInfo[] },
): PreFiltered {
  const skipped = skippedFilters(state);
  let allowed: ReadonlySet<string> | undefined;
  let first: ReadonlySet<string> | undefined;
  let upfront: Rejection | undefined;
  const narrowing: string[] = [];
  for (const plugin of plugins) {
    const since = metrics.now();
    const result = plugin.preFilter(state, pod, nodes);
    metrics.evaluated("PreFilter", plugin.name, profile);
    if (sampled) metrics.plugin("PreFilter", plugin.name, preFilterStatus(result), since);
    if (result.type === "skip") skipped.add(plugin.name);
    else if (result.type === "reject") {
      upfront = result.rejection;
      if (!upfront.resolvable) return { upfront, narrowing };
    } else {
      if (result.first !== undefined) first = first?.intersection(result.first) ?? result.first;
      if (result.nodes === undefined) continue;
      narrowing.push(plugin.name);
      allowed = allowed === undefined ? result.nodes : allowed.intersection(result.nodes);
      if (allowed.size > 0) continue;
      const names = narrowing.toSorted();
      const reason =
        names.length === 1
          ? `node(s) didn't satisfy plugin ${names[0]}`
          : `node(s) didn't satisfy plugin(s) [${names.join(" ")}] simultaneously`;
      return { upfront: { plugin: plugin.name, reasons: [reason], resolvable: false }, narrowing };
    }
  }
  return {
    ...(upfront !== undefined && { upfront }),
    ...(allowed !== undefined && { allowed }),
    ...(first !== undefined && { first }),
    narrowing: narrowing.sort(),
  };
}

/** Label of a rejection in metrics, or of success. */
export function statusOf(rejection: Rejection | undefined): Status {
  if (rejection === undefined) return "Success";
  return rejection.resolvable ? "Unschedulable" : "UnschedulableAndUnresolvable";
}

function preFilterStatus(result: PreFilterResult): Status {
  if (result.type === "reject") return statusOf(result.rejection);
  return result.type === "skip" ? "Skip" : "Success";
}

const skippedKey = "skipped filters";

/** Plugins whose PreFilter found nothing to do: their Filter, AddPod and RemovePod are left out. */
export function skippedFilters(state: CycleState): Set<string> {
  let skipped = state.get(skippedKey) as Set<string> | undefined;
  if (skipped === undefined) {
    skipped = new Set();
    state.set(skippedKey, skipped);
  }
  return skipped;
}
