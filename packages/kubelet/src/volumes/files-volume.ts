import type { Pod, Volume, VolumeProjection } from "@dray/api/core/v1";
import { fsGroupOf, takesUserOfRuntime } from "./fs-group.ts";
import type { VolumeHost, VolumePlugin } from "./plugin.ts";
import type { FileSource, SourcePlugin } from "./source-plugin.ts";
import { type VolumeFile, writeFiles } from "./volume-files.ts";

/** Kinds of volumes that the agent fills with files. */
type FilesKind = "configMap" | "secret" | "downwardAPI" | "projected";

interface FilesVolume<K extends FilesKind> {
  readonly field: K;
  readonly name: string;
  /** Kinds of sources that a volume may have. */
  readonly plugins: readonly SourcePlugin[];
  /** Returns the sources of a volume in the form of those of a projected one. */
  sources(source: NonNullable<Volume[K]>): readonly VolumeProjection[];
}

/** Creates the plugin of a kind of volumes that the agent fills with files, which containers cannot write. */
export function filesVolume<K extends FilesKind>(kind: FilesVolume<K>): VolumePlugin<K> {
  const { field, name, plugins, sources } = kind;
  const pluginOf = (projection: VolumeProjection): SourcePlugin | undefined =>
    plugins.find((plugin) => projection[plugin.field] !== undefined);
  return {
    field,
    name,
    apiReference: (source) =>
      sources(source)
        .map((projection) => pluginOf(projection)?.apiReference)
        .find((resource) => resource !== undefined),
    track(pod, host) {
      for (const plugin of plugins) plugin.track?.(pod, host);
    },
    async setUp({ pod, name: volume, source, folder }, host) {
      const { defaultMode = 0o644 } = source;
      const files: VolumeFile[] = [];
      for (const [index, projection] of sources(source).entries()) {
        const plugin = pluginOf(projection);
        if (plugin === undefined)
          throw new Error(`projected source ${Object.keys(projection).join()} is not supported on this node`);
        const from = sourceOf(plugin, projection, { pod, volume, index });
        for (const file of await plugin.files(from, defaultMode, host)) files.push(file);
      }
      await writeOwned(folder, files, pod, host);
      return { path: folder, readOnly: true };
    },
    refreshAt({ pod, name: volume, source }, last, host) {
      const times = sources(source).flatMap((projection, index) => {
        const plugin = pluginOf(projection);
        if (plugin?.refreshAt === undefined) return [];
        return plugin.refreshAt(sourceOf(plugin, projection, { pod, volume, index }), last, host) ?? [];
      });
      return times.length === 0 ? undefined : Math.min(...times);
    },
    tearDown(podUid, host) {
      for (const plugin of plugins) plugin.tearDown?.(podUid, host);
    },
  };
}

function sourceOf(
  { field }: SourcePlugin,
  projection: VolumeProjection,
  place: Omit<FileSource, "source">,
): FileSource {
  const source = projection[field];
  if (source === undefined) throw new TypeError(`no source ${field}`);
  return { ...place, source };
}

/** Writes the files of a volume, which belong to the user and the group of the pod. */
async function writeOwned(
  folder: string,
  files: readonly VolumeFile[],
  pod: Pod,
  host: VolumeHost,
): Promise<void> {
  // An agent that is not root owns its files, and cannot give them away.
  const isRoot = process.getuid?.() === 0;
  const reader = takesUserOfRuntime(pod) ? host.userOfPod(pod.metadata.uid) : undefined;
  const owned = files.map(({ user, ...file }) => {
    if (!isRoot) return file;
    // A file without read permission for others: root of an image could read it.
    const owner = user ?? ((file.mode & 0o004) === 0 ? reader : undefined);
    return owner === undefined ? file : { ...file, user: owner };
  });
  await writeFiles(folder, owned, isRoot ? fsGroupOf(pod) : undefined);
}
