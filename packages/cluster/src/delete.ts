import { existsSync, rmdirSync, rmSync } from "node:fs";
import { removeFolder } from "@dray/files";
import { removeFromKubeconfigs } from "./credentials/kubeconfigs.ts";
import { readSoundConfig } from "./data-dir/config.ts";
import type { Layout } from "./data-dir/layout.ts";
import { parseStore } from "./store/open.ts";

/**
 * Deletes what clusters write into a data directory, the store included, and the directory unless it holds
 * more; in other kubeconfigs the entries of the cluster. Entries that cannot be removed are reported to
 * `warn`. If the configuration is damaged, `name` says which entries are the cluster's, and a database
 * outside the directory stays.
 */
export async function deleteData(
  layout: Layout,
  name: string,
  warn: (message: string) => void,
): Promise<void> {
  const {
    dataDir,
    configFile,
    processFile,
    agentsFile,
    nodesFile,
    imagesFile,
    ociDir,
    fleetFile,
    logs,
    volumes,
    pki,
    database,
  } = layout;
  const config = readSoundConfig(layout);
  // Before the keys are deleted: they distinguish the entries from those of others.
  await removeFromKubeconfigs(layout, config?.name ?? name, warn);
  const store = config && parseStore(config.store);
  const files = new Set([database, ...(store?.type === "sqlite" ? [store.path] : [])]);
  for (const file of files)
    for (const suffix of ["", "-wal", "-shm", ".lock", ".lock-journal"])
      rmSync(`${file}${suffix}`, { force: true });
  for (const path of [
    pki,
    logs,
    volumes,
    processFile,
    agentsFile,
    nodesFile,
    imagesFile,
    ociDir,
    fleetFile,
    configFile,
  ])
    await removeFolder(path);
  if (!existsSync(dataDir)) return;
  try {
    rmdirSync(dataDir);
  } catch (error) {
    // Other files are not ours to delete.
    if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY") throw error;
  }
}
