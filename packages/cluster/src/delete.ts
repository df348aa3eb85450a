import { existsSync, rmdirSync, rmSync } from "node:fs";
import { readConfig } from "./config.ts";
import { removeFromKubeconfigs } from "./kubeconfigs.ts";
import { defaultName, type Layout } from "./layout.ts";
import { parseStore } from "./store.ts";

/**
 * Deletes what clusters write into a data directory, the store included, and the directory unless it holds more; in
 * other kubeconfigs the cluster's entries. What cannot be removed from those is reported to `warn`.
 */
export async function deleteData(layout: Layout, warn: (message: string) => void): Promise<void> {
  const { dataDir, configFile, processFile, agentsFile, nodesFile, logs, pki, database } = layout;
  const config = readConfig(layout);
  // While the keys are there that tell the entries from those of others.
  await removeFromKubeconfigs(layout, config?.name ?? defaultName, warn);
  const store = config && parseStore(config.store);
  const files = new Set([database, ...(store?.type === "sqlite" ? [store.path] : [])]);
  for (const file of files)
    for (const suffix of ["", "-wal", "-shm", ".lock", ".lock-journal"])
      rmSync(`${file}${suffix}`, { force: true });
  for (const path of [pki, logs, processFile, agentsFile, nodesFile, configFile])
    rmSync(path, { recursive: true, force: true });
  if (!existsSync(dataDir)) return;
  try {
    rmdirSync(dataDir);
  } catch (error) {
    // Other files are not ours to delete.
    if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY") throw error;
  }
}
