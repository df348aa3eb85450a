import { statfs } from "node:fs/promises";
import type { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { metricText, type Sample } from "../metrics/prometheus.ts";
import { findPlugin } from "../volumes/plugins.ts";
import type { ClaimFolder, Volumes } from "../volumes/volumes.ts";

interface VolumeMetricsOptions {
  readonly volumes: Pick<Volumes, "claims" | "isSetUp">;
  pods(): readonly Pod[];
}

/** A file system, in bytes and inodes. */
export interface FileSystemUse {
  readonly available: number;
  readonly capacity: number;
  readonly used: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly inodesUsed: number;
}

/**
 * Use of the file system that a volume lies on, which a volume of type hostPath or local has no other figures
 * than. Upstream: pkg/volume/metrics_statfs.go.
 */
export async function fileSystemUse(path: string): Promise<FileSystemUse | undefined> {
  const found = await statfs(path).catch(() => undefined);
  if (found === undefined) return undefined;
  const { bsize, blocks, bavail, bfree, files, ffree } = found;
  return {
    ...{ available: bavail * bsize, capacity: blocks * bsize, used: (blocks - bfree) * bsize },
    ...{ inodes: files, inodesFree: ffree, inodesUsed: files - ffree },
  };
}

const ofClaims: readonly (readonly [string, string, keyof FileSystemUse])[] = [
  ["available_bytes", "Number of available bytes in the volume", "available"],
  ["capacity_bytes", "Capacity in bytes of the volume", "capacity"],
  ["inodes", "Maximum number of inodes in the volume", "inodes"],
  ["inodes_free", "Number of free inodes in the volume", "inodesFree"],
  ["inodes_used", "Number of used inodes in the volume", "inodesUsed"],
  ["used_bytes", "Number of used bytes in the volume", "used"],
];

/**
 * Metrics of the volumes of pods.
 *
 * Upstream: pkg/kubelet/metrics/collectors/volume_stats.go; pkg/kubelet/volumemanager/metrics/metrics.go.
 */
export async function volumeMetrics(options: VolumeMetricsOptions): Promise<string> {
  return `${await claimMetrics(options)}${countMetrics(options)}`;
}

async function claimMetrics({ volumes, pods }: VolumeMetricsOptions): Promise<string> {
  // A claim of several pods is there once.
  const claims = new Map<string, ClaimFolder & { readonly namespace: string }>();
  for (const { metadata } of pods())
    for (const folder of volumes.claims(metadata.uid))
      claims.set(`${metadata.namespace}/${folder.claim}`, { ...folder, namespace: metadata.namespace });
  const uses = await Promise.all(
    [...claims.values()].map(async ({ claim, namespace, path }) => ({
      labels: { namespace, persistentvolumeclaim: claim },
      use: await fileSystemUse(path),
    })),
  );
  return ofClaims
    .map(([name, help, field]) => {
      const samples = uses.flatMap(({ labels, use }): Sample[] =>
        use === undefined ? [] : [{ labels, value: use[field] }],
      );
      return metricText(`kubelet_volume_stats_${name}`, `[ALPHA] ${help}`, "gauge", samples);
    })
    .join("");
}

function countMetrics({ volumes, pods }: VolumeMetricsOptions): string {
  const desired = new Map<string, number>();
  const actual = new Map<string, number>();
  const add = (counts: Map<string, number>, plugin: string): void =>
    void counts.set(plugin, (counts.get(plugin) ?? 0) + 1);
  for (const pod of pods()) {
    const isSetUp = volumes.isSetUp(pod.metadata.uid);
    for (const volume of pod.spec.volumes ?? []) {
      const plugin = findPlugin(volume)?.name;
      if (plugin === undefined) continue;
      if (!isPodTerminal(pod)) add(desired, plugin);
      if (isSetUp) add(actual, plugin);
    }
  }
  const samples = (state: string, counts: ReadonlyMap<string, number>): Sample[] =>
    [...counts].map(([plugin, value]) => ({
      labels: { plugin_name: `kubernetes.io/${plugin}`, state },
      value,
    }));
  return metricText("volume_manager_total_volumes", "[ALPHA] Number of volumes in Volume Manager", "gauge", [
    ...samples("desired_state_of_world", desired),
    ...samples("actual_state_of_world", actual),
  ]);
}
