import type { CdiRegistry } from "@dray/cdi";
import type { Clock, Log } from "@dray/client";
import type { ImageTable } from "./images.ts";

export interface HostRuntimeOptions {
  /** Where the runtime keeps its records; below the node's root. */
  readonly directory: string;
  /** The node's root: what lies below it is the node's to create. */
  readonly rootDir: string;
  /** What pods have of their own lies below it. */
  readonly podsDirectory: string;
  readonly nodeAddress: string;
  readonly images: ImageTable;
  /** `plain`: without mount name spaces even where the system has them. */
  readonly isolation?: "auto" | "plain";
  /** `none`: without cgroups even where they can be made. */
  readonly cgroups?: "auto" | "none";
  /** Where CDI specs are looked for. */
  readonly cdi: CdiRegistry;
  /** The place on this machine of a path that the node's pods name. */
  hostPath(path: string): string;
  readonly clock: Clock;
  readonly log: Log;
}
