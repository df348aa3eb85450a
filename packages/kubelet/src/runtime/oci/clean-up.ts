import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { cdiRegistry } from "@dray/cdi";
import { type Log, systemClock } from "@dray/client";
import { OciImages } from "./images/service.ts";
import { readOciNode } from "./record.ts";
import { OciRuntime } from "./runtime.ts";

/**
 * Ends and removes all containers of the node whose runtime kept its records in `directory`, with their root
 * file systems, and its part of the cluster's network. A missing record is not an error.
 */
export async function destroyOciNode(directory: string, log: Log): Promise<void> {
  const record = readOciNode(directory);
  if (record === undefined) return;
  const { nodeName, networkDirectory, imagesDirectory } = record;
  const { networkNamespaces = join(directory, "netns"), hostNetwork = "machine" } = record;
  // The runtime's timers keep no process alive.
  const alive = setInterval(() => {}, 1000);
  const images = await OciImages.open({ directory: imagesDirectory, now: Date.now });
  try {
    const runtime = new OciRuntime({
      directory,
      networkDirectory,
      nodeName,
      nodeAddress: "127.0.0.1",
      hostNetwork,
      networkNamespaces,
      nodePath: (path) => path,
      images,
      // No container is started.
      cdi: cdiRegistry([]),
      hostPath: (path) => path,
      clock: systemClock,
      newId: randomUUID,
      log,
    });
    await runtime.start();
    await runtime.destroy();
  } finally {
    images.close();
    clearInterval(alive);
  }
}
