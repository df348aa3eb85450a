import { defaultPlugins } from "../plugins/registry.ts";
import type { EnabledPlugin, PluginSet } from "./types.ts";

/** The plugins of a profile without `plugins`. */
export const defaultMultiPoint: PluginSet = {
  enabled: defaultPlugins.map(({ name, weight }) => ({ name, ...(weight !== undefined && { weight }) })),
  disabled: [],
};
export const emptySet: PluginSet = { enabled: [], disabled: [] };

/** Removed from Kubernetes. Upstream: apis/config/validation/validation.go, invalidPluginsByVersion. */
export const removedPlugins: ReadonlySet<string> = new Set([
  "AzureDiskLimits",
  "CinderLimits",
  "EBSLimits",
  "GCEPDLimits",
]);

/**
 * Merges a profile into the defaults: a default plugin that it names again keeps its place.
 * Upstream: pkg/scheduler/apis/config/v1/default_plugins.go, mergePluginSet.
 */
export function mergePluginSet(defaults: PluginSet, custom: PluginSet): PluginSet {
  const disabled = new Set([...custom.disabled, ...defaults.disabled]);
  const replaced = new Set<EnabledPlugin>();
  const enabled: EnabledPlugin[] = [];
  if (!disabled.has("*"))
    for (const plugin of defaults.enabled) {
      if (disabled.has(plugin.name)) continue;
      const named = custom.enabled.find(({ name }) => name === plugin.name);
      if (named !== undefined) replaced.add(named);
      enabled.push(named ?? plugin);
    }
  for (const plugin of custom.enabled) if (!replaced.has(plugin)) enabled.push(plugin);
  return { enabled, disabled: [...disabled] };
}
