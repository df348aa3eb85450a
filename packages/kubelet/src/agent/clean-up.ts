import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cdiRegistry } from "@dray/cdi";
import { type Log, systemClock } from "@dray/client";
import { unmountBelow } from "../base/mounts.ts";
import { NodePaths } from "../base/paths.ts";
import { HostRuntime } from "../runtime/host/host.ts";
import { ImageTable } from "../runtime/host/images.ts";
import { readOciNode } from "../runtime/oci/record.ts";

/**
 * Ends the containers that still run of a node whose agent has gone for good, without the API server or any
 * driver, and unmounts the volumes of its pods. The caller may remove the root afterwards.
 */
export async function cleanUpNode(rootDir: string, log: Log): Promise<void> {
  const directory = join(rootDir, "var/lib/dray");
  if (!existsSync(directory)) return;
  const paths = new NodePaths(rootDir);
  if (readOciNode(directory) === undefined) await endHostContainers(paths, directory, log);
  else {
    const { destroyOciNode } = await import("../runtime/oci/clean-up.ts");
    await destroyOciNode(directory, log);
  }
  // The network name spaces of pods.
  if (paths.root !== "/") unmountBelow(join(paths.root, "run/netns"));
  // Mounts of a runc that was killed while it started.
  unmountBelow(join(directory, "runc"));
  unmountBelow(paths.pods);
}

async function endHostContainers(paths: NodePaths, directory: string, log: Log): Promise<void> {
  const runtime = new HostRuntime({
    directory,
    rootDir: paths.root,
    podsDirectory: paths.pods,
    nodeAddress: "127.0.0.1",
    images: new ImageTable([]),
    // No container is started.
    isolation: "plain",
    cdi: cdiRegistry(paths.cdi),
    hostPath: (path) => paths.onMachine(path),
    clock: systemClock,
    newId: randomUUID,
    log,
  });
  await runtime.start();
  for (const { id } of await runtime.listPodSandboxes()) await runtime.stopPodSandbox(id);
  await runtime.close();
}
