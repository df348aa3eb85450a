import { join } from "node:path";
import { cdiRegistry } from "@dray/cdi";
import type { RuntimeFactory } from "../factory.ts";
import type { OciImages } from "./images/service.ts";
import { OciRuntime } from "./runtime.ts";

export interface OciRuntimeSettings {
  /** Opened and closed by the caller; all nodes of the machine may share them. */
  readonly images: OciImages;
  /** A folder that all nodes of the cluster on this machine share, which holds the state of their network. */
  readonly networkDir: string;
  /** Folder of the runtime's records; `var/lib/dray` below the node's root by default. */
  readonly stateDir?: string;
}

/** A runtime with isolated containers, by runc. Needs root on Linux. */
export function ociRuntime({ images, networkDir, stateDir }: OciRuntimeSettings): RuntimeFactory {
  return ({ nodeName, paths, nodeAddress, clock, newId, log }) => ({
    service: new OciRuntime({
      directory: stateDir ?? join(paths.root, "var/lib/dray"),
      networkDirectory: networkDir,
      nodeName,
      nodeAddress,
      images,
      cdi: cdiRegistry(paths.cdi),
      hostPath: (path) => paths.onMachine(path),
      clock,
      newId,
      log,
    }),
    images,
  });
}
