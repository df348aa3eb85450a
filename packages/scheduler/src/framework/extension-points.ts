import type { Plugin } from "./framework.ts";

type With<K extends keyof Plugin> = Plugin & Required<Pick<Plugin, K>>;

export interface Scorer {
  readonly plugin: With<"score">;
  readonly weight: number;
}

export interface PlacementScorer {
  readonly plugin: With<"scorePlacement">;
  readonly weight: number;
}

/** The plugins of one profile by extension point, each list in the order in which they are called. */
export interface ExtensionPoints {
  readonly all: readonly Plugin[];
  readonly byName: ReadonlyMap<string, Plugin>;
  readonly preEnqueue: readonly With<"preEnqueue">[];
  readonly queueSort: readonly With<"less">[];
  readonly preFilter: readonly With<"preFilter">[];
  readonly filter: readonly With<"filter">[];
  readonly postFilter: readonly With<"postFilter">[];
  readonly podGroupPostFilter: readonly With<"postFilterGroup">[];
  readonly placementGenerate: readonly With<"placements">[];
  readonly placementScore: readonly PlacementScorer[];
  readonly preScore: readonly With<"preScore">[];
  readonly score: readonly Scorer[];
  readonly reserve: readonly Plugin[];
  readonly permit: readonly With<"permit">[];
  readonly preBind: readonly With<"preBind">[];
  readonly bind: readonly With<"bind">[];
  readonly postBind: readonly With<"postBind">[];
}

/**
 * Which plugins a profile has at a point, with the weights of their scores; undefined: all that implement it.
 */
export type PluginChoice = (
  point: keyof Omit<ExtensionPoints, "all" | "byName">,
) => readonly { readonly name: string; readonly weight?: number }[] | undefined;

/** `plugins` in their order, or as `choose` says. */
export function extensionPoints(
  plugins: readonly Plugin[],
  choose: PluginChoice = () => undefined,
): ExtensionPoints {
  const byName = new Map(plugins.map((plugin) => [plugin.name, plugin]));
  const at = <K extends keyof Plugin>(
    point: Parameters<PluginChoice>[0],
    method: K,
  ): { readonly plugin: With<K>; readonly weight: number }[] => {
    const chosen = choose(point)?.flatMap(({ name, weight }) => {
      const plugin = byName.get(name);
      return plugin === undefined ? [] : [{ plugin, weight: weight || 1 }];
    });
    const named = chosen ?? plugins.map((plugin) => ({ plugin, weight: plugin.weight ?? 1 }));
    return named.filter(
      (each): each is { plugin: With<K>; weight: number } => each.plugin[method] !== undefined,
    );
  };
  const only = <K extends keyof Plugin>(point: Parameters<PluginChoice>[0], method: K): readonly With<K>[] =>
    at(point, method).map(({ plugin }) => plugin);
  return {
    all: plugins,
    byName,
    preEnqueue: only("preEnqueue", "preEnqueue"),
    queueSort: only("queueSort", "less"),
    preFilter: only("preFilter", "preFilter"),
    filter: only("filter", "filter"),
    postFilter: only("postFilter", "postFilter"),
    podGroupPostFilter: only("podGroupPostFilter", "postFilterGroup"),
    placementGenerate: only("placementGenerate", "placements"),
    placementScore: at("placementScore", "scorePlacement"),
    preScore: only("preScore", "preScore"),
    score: at("score", "score"),
    reserve: only("reserve", "name").filter(
      (plugin) => (plugin.reserve ?? plugin.undo ?? plugin.unreserve) !== undefined,
    ),
    permit: only("permit", "permit"),
    preBind: only("preBind", "preBind"),
    bind: only("bind", "bind"),
    postBind: only("postBind", "postBind"),
  };
}
