import type { Volume } from "@dray/api/core/v1";
import { configMap } from "./kinds/config-map.ts";
import { downwardAPI } from "./kinds/downward-api.ts";
import { emptyDir } from "./kinds/empty-dir.ts";
import { ephemeral } from "./kinds/ephemeral.ts";
import { hostPath } from "./kinds/host-path.ts";
import { image } from "./kinds/image.ts";
import { persistentVolumeClaim } from "./kinds/persistent-volume-claim.ts";
import { projected } from "./kinds/projected.ts";
import { secret } from "./kinds/secret.ts";
import type { VolumePlugin } from "./plugin.ts";

/** All kinds of volumes, in the order in which an error lists them. */
export const volumePlugins: readonly VolumePlugin[] = [
  emptyDir,
  hostPath,
  configMap,
  secret,
  downwardAPI,
  projected,
  persistentVolumeClaim,
  ephemeral,
  image,
];

/** Upstream: VolumePluginMgr.FindPluginBySpec. */
export function findPlugin(volume: Volume): VolumePlugin | undefined {
  return volumePlugins.find(({ field }) => volume[field] !== undefined);
}

/** Returns the plugin of a volume. Throws an Error for a volume of a kind that this node lacks. */
export function pluginOf(volume: Volume): VolumePlugin {
  const plugin = findPlugin(volume);
  if (plugin !== undefined) return plugin;
  const type = Object.keys(volume).find((key) => key !== "name");
  const fields = volumePlugins.map(({ field }) => field);
  throw new Error(
    `volumes of type ${type} are not supported on this node; supported are ${fields.slice(0, -1).join(", ")} and ${fields.at(-1)}`,
  );
}

/** Returns the resource of the API to which a volume refers. */
export function apiReferenceOf(volume: Volume): string | undefined {
  const plugin = findPlugin(volume);
  const source = plugin && volume[plugin.field];
  return source && plugin.apiReference?.(source);
}
