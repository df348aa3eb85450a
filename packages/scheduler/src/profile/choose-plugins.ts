import { defaultMultiPoint } from "../config/default-plugins.ts";
import {
  type EnabledPlugin,
  type ExtensionPointName,
  extensionPointNames,
  type ProfilePlugins,
} from "../config/types.ts";
import { type ExtensionPoints, extensionPoints } from "../framework/extension-points.ts";
import type { Plugin } from "../framework/framework.ts";

/** The method by which a plugin takes part in an extension point. */
const methods: Readonly<Record<ExtensionPointName, readonly (keyof Plugin)[]>> = {
  preEnqueue: ["preEnqueue"],
  queueSort: ["less"],
  preFilter: ["preFilter"],
  filter: ["filter"],
  postFilter: ["postFilter"],
  podGroupPostFilter: ["postFilterGroup"],
  placementGenerate: ["placements"],
  placementScore: ["scorePlacement"],
  preScore: ["preScore"],
  score: ["score"],
  reserve: ["reserve", "undo", "unreserve"],
  permit: ["permit"],
  preBind: ["preBind"],
  bind: ["bind"],
  postBind: ["postBind"],
};

const implementsPoint = (plugin: Plugin, point: ExtensionPointName): boolean =>
  methods[point].some((method) => plugin[method] !== undefined);

/** A profile that cannot work as it is configured. */
export class ProfileError extends Error {
  override readonly name = "ProfileError";
}

/**
 * The plugins of a profile in the order of each extension point. Throws ProfileError.
 * Upstream: pkg/scheduler/framework/runtime/framework.go, NewFramework.
 */
export function choosePlugins(
  profile: string,
  available: readonly Plugin[],
  plugins: ProfilePlugins,
): ExtensionPoints {
  const byName = new Map(available.map((plugin) => [plugin.name, plugin]));
  const fail = (text: string): never => {
    throw new ProfileError(`profile ${profile}: ${text}`);
  };
  checkNames(plugins, byName, fail);
  const chosen = new Map(
    extensionPointNames.map((point) => [point, pluginsAt(point, plugins, byName)] as const),
  );
  const used = new Set([...chosen.values()].flatMap((list) => list.map(({ name }) => name)));
  const points = extensionPoints(
    available.filter(({ name }) => used.has(name)),
    (point) => chosen.get(point),
  );
  if (points.queueSort.length !== 1)
    fail(`one queue sort plugin is needed, and ${points.queueSort.length} are enabled`);
  if (points.bind.length === 0) fail("at least one bind plugin is needed");
  if (points.placementGenerate.length > 1)
    fail(
      `at most one placement generate plugin is allowed, and ${points.placementGenerate.length} are enabled`,
    );
  return points;
}

type Fail = (text: string) => never;

function checkNames(plugins: ProfilePlugins, byName: ReadonlyMap<string, Plugin>, fail: Fail): void {
  const byDefault = new Set(defaultMultiPoint.enabled.map(({ name }) => name));
  for (const [point, { enabled }] of Object.entries(plugins)) {
    const seen = new Set<string>();
    for (const { name } of enabled) {
      const plugin = byName.get(name);
      // Plugins of the default profile that this release lacks are left out.
      if (plugin === undefined && !(point === "multiPoint" && byDefault.has(name)))
        fail(
          `plugins.${point}: plugin "${name}" does not exist; there are ${[...byName.keys()].sort().join(", ")}`,
        );
      if (seen.has(name)) fail(`plugins.${point}: plugin "${name}" is enabled twice`);
      seen.add(name);
      if (
        plugin !== undefined &&
        point !== "multiPoint" &&
        !implementsPoint(plugin, point as ExtensionPointName)
      )
        fail(`plugins.${point}: plugin "${name}" does not take part in ${point}`);
    }
  }
}

/**
 * First those that the point configures anew, then the others of all points, then those of the point alone.
 * Upstream: framework.go, expandMultiPointPlugins.
 */
function pluginsAt(
  point: ExtensionPointName,
  plugins: ProfilePlugins,
  byName: ReadonlyMap<string, Plugin>,
): readonly EnabledPlugin[] {
  const own = plugins[point];
  const disabled = new Set(own.disabled);
  const general = disabled.has("*")
    ? []
    : plugins.multiPoint.enabled.filter(({ name }) => {
        const plugin = byName.get(name);
        return plugin !== undefined && implementsPoint(plugin, point) && !disabled.has(name);
      });
  const generalNames = new Set(general.map(({ name }) => name));
  const ownNames = new Set(own.enabled.map(({ name }) => name));
  return [
    ...own.enabled.filter(({ name }) => generalNames.has(name)),
    ...general.filter(({ name }) => !ownNames.has(name)),
    ...own.enabled.filter(({ name }) => !generalNames.has(name)),
  ];
}
