import { join } from "node:path";
import { cdiRegistry } from "@dray/cdi";
import type { RuntimeFactory } from "../factory.ts";
import { HostRuntime } from "./host.ts";
import { type ImageMapping, ImageTable } from "./images.ts";

export interface HostRuntimeSettings {
  /** What images stand for; the first pattern that matches counts. A function is called at each look. */
  readonly images: readonly ImageMapping[] | (() => readonly ImageMapping[]);
  /** Without mount name spaces even where the system has them. */
  readonly isolation?: "auto" | "plain";
  /** `none`: without cgroups even where they can be made. */
  readonly cgroups?: "auto" | "none";
  /** Where the runtime keeps its records; `var/lib/dray` below the node's root if absent. */
  readonly stateDir?: string;
}

/** A runtime whose containers are processes of the machine. */
export function hostRuntime(settings: HostRuntimeSettings): RuntimeFactory {
  return ({ paths, nodeAddress, clock, log }) => {
    const images = new ImageTable(settings.images);
    const service = new HostRuntime({
      directory: settings.stateDir ?? join(paths.root, "var/lib/dray"),
      rootDir: paths.root,
      podsDirectory: paths.pods,
      nodeAddress,
      images,
      isolation: settings.isolation ?? "auto",
      cgroups: settings.cgroups ?? "auto",
      cdi: cdiRegistry(paths.cdi),
      hostPath: (path) => paths.onMachine(path),
      clock,
      log,
    });
    return { service, images };
  };
}
