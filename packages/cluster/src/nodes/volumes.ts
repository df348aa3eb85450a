import { existsSync, lstatSync, readdirSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { PersistentVolume } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { makeFolderSync, removeFolder } from "@dray/files";
import type { Layout } from "../data-dir/layout.ts";

/** Folder of the volumes of the default storage class on a node. */
const onNode = "var/lib/local-path-provisioner";

/**
 * Has a node keep the volumes of the default storage class in the data directory: its root goes when the
 * cluster stops, and the data of a claim must not. Can run again.
 */
export function keepVolumes(layout: Layout, node: string, rootDir: string): void {
  const link = join(rootDir, onNode);
  const folder = layout.nodeVolumes(node);
  // Closed to other users; containers reach it by a mount.
  makeFolderSync(folder, 0o700);
  makeFolderSync(dirname(link), 0o755);
  if (lstatSync(link, { throwIfNoEntry: false }) === undefined) symlinkSync(folder, link);
}

/**
 * Removes what belongs to no volume: objects that were only in memory are gone, and so must their data be.
 */
export async function removeLostVolumes(layout: Layout, client: Client): Promise<void> {
  if (!existsSync(layout.volumes)) return;
  const { items } = await client.resource(PersistentVolume).list();
  const known = new Set(items.map(({ spec }) => basename(spec?.hostPath?.path ?? "")));
  for (const node of readdirSync(layout.volumes))
    for (const volume of readdirSync(join(layout.volumes, node)))
      if (!known.has(volume)) await removeFolder(join(layout.volumes, node, volume));
}
