import { existsSync, rmdirSync, rmSync } from "node:fs";
import { readConfig } from "./config.ts";
import type { Layout } from "./layout.ts";
import { parseStore } from "./store.ts";

/** Deletes what clusters write into a data directory, the store included, and the directory unless it holds more. */
export function deleteData(layout: Layout): void {
  const { dataDir, configFile, processFile, agentsFile, kubeconfig, logs, pki, database } = layout;
  const config = readConfig(layout);
  const store = config && parseStore(config.store);
  const files = new Set([database, ...(store?.type === "sqlite" ? [store.path] : [])]);
  for (const file of files)
    for (const suffix of ["", "-wal", "-shm", ".lock", ".lock-journal"])
      rmSync(`${file}${suffix}`, { force: true });
  for (const path of [pki, logs, kubeconfig, processFile, agentsFile, configFile])
    rmSync(path, { recursive: true, force: true });
  if (!existsSync(dataDir)) return;
  try {
    rmdirSync(dataDir);
  } catch (error) {
    // Other files are not ours to delete.
    if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY") throw error;
  }
}
