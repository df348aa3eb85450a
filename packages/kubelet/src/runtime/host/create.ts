import { join } from "node:path";
import { cdiRegistry } from "@dray/cdi";
import { MachineServices } from "../../services/machine-services.ts";
import type { RuntimeFactory } from "../factory.ts";
import { HostRuntime } from "./host.ts";
import { type ImageMapping, ImageTable } from "./images.ts";

export interface HostRuntimeSettings {
  /** Programs of images; the first pattern that matches counts. A function is called at each lookup. */
  readonly images: readonly ImageMapping[] | (() => readonly ImageMapping[]);
  /** `plain`: without mount name spaces even if the system supports them. */
  readonly isolation?: "auto" | "plain";
  /** `none`: without cgroups even if they can be made. */
  readonly cgroups?: "auto" | "none";
  /** Folder of the runtime's records; `var/lib/dray` below the node's root by default. */
  readonly stateDir?: string;
}

/** A runtime whose containers are processes of the machine. */
export function hostRuntime(settings: HostRuntimeSettings): RuntimeFactory {
  // Shared by the nodes of this process.
  const machineServices = new MachineServices();
  return ({ paths, nodeAddress, clock, newId, log }) => {
    const images = new ImageTable(settings.images);
    const service = new HostRuntime({
      directory: settings.stateDir ?? join(paths.root, "var/lib/dray"),
      rootDir: paths.root,
      podsDirectory: paths.pods,
      nodeAddress,
      machineServices,
      images,
      isolation: settings.isolation ?? "auto",
      cgroups: settings.cgroups ?? "auto",
      cdi: cdiRegistry(paths.cdi),
      hostPath: (path) => paths.onMachine(path),
      clock,
      newId,
      log,
    });
    return { service, images };
  };
}
