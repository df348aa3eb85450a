import { allocatorFeatures, createAllocator } from "@dray/allocator";
import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { SchedulerCache } from "../../packages/scheduler/src/cache/cache.ts";
import { SchedulingCycle } from "../../packages/scheduler/src/cycle/scheduling-cycle.ts";
import { diagnosisText } from "../../packages/scheduler/src/framework/diagnosis.ts";
import {
  type ExtensionPoints,
  extensionPoints,
} from "../../packages/scheduler/src/framework/extension-points.ts";
import { MemoryClaims } from "../../packages/scheduler/src/plugins/dynamic-resources/memory-claims.ts";
import {
  createPlugins,
  defaultPlugins,
  type PluginOptions,
} from "../../packages/scheduler/src/plugins/registry.ts";
import type { Scores } from "./real-scores.ts";

/** Result of our plugins for a pod: scores if several nodes fit, the message if no node does. */
export interface Judgement {
  readonly feasible: readonly string[];
  readonly scores: Scores;
  readonly message: string;
}

/** Our plugins on the state of a cluster, without a scheduler around them. */
export class Judge {
  readonly cache: SchedulerCache;
  readonly #points: ExtensionPoints;
  readonly #cycle: SchedulingCycle;

  constructor(
    features: Features,
    lookups: Pick<PluginOptions, "args" | "volumes" | "workloads" | "namespaceLabels">,
  ) {
    this.cache = new SchedulerCache(features.version);
    const allocator = createAllocator({ newId: () => "id", features: allocatorFeatures(features) });
    const plugins = createPlugins({
      features,
      allocator,
      claims: new MemoryClaims(allocator),
      deviceClass: () => undefined,
      newId: () => "id",
      now: () => 0,
      random: () => 0,
      ...lookups,
    } as PluginOptions);
    this.#points = extensionPoints(plugins, () => defaultPlugins);
    this.#cycle = new SchedulingCycle(this.#points, { random: () => 0, enough: (nodes) => nodes });
  }

  judge(pod: Pod): Judgement {
    const { state, feasible, diagnosis } = this.#cycle.search(pod, this.cache.nodes);
    const scores = new Map(feasible.map(({ name }) => [name, new Map<string, number>()]));
    for (const { plugin, weight } of this.#points.score) {
      if (plugin.preScore?.(state, pod, feasible) === "skip") continue;
      const own = new Map(feasible.map((node) => [node.name, plugin.score(state, pod, node)]));
      plugin.normalize?.(own, state, pod);
      for (const [node, score] of own) scores.get(node)!.set(plugin.name, score * weight);
    }
    return {
      feasible: feasible.map(({ name }) => name).sort(),
      scores,
      message: feasible.length > 0 ? "" : diagnosisText(diagnosis, []),
    };
  }
}
