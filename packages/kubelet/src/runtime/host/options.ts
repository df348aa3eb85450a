import type { CdiRegistry } from "@dray/cdi";
import type { Clock, Log } from "@dray/client";
import type { MachineServices } from "../../services/machine-services.ts";
import type { ImageTable } from "./images.ts";

export interface HostRuntimeOptions {
  /** Folder of the runtime's records, below the node's root. */
  readonly directory: string;
  /** The node's root: everything below it may be created. */
  readonly rootDir: string;
  /** Folder of the pods' own volumes. */
  readonly podsDirectory: string;
  readonly nodeAddress: string;
  readonly machineServices?: MachineServices;
  readonly images: ImageTable;
  /** `plain`: without mount name spaces even if the system supports them. */
  readonly isolation?: "auto" | "plain";
  /** `none`: without cgroups even if they can be made. */
  readonly cgroups?: "auto" | "none";
  /** Registry of CDI specs. */
  readonly cdi: CdiRegistry;
  /** Maps a path that the node's pods name to one of this machine. */
  hostPath(path: string): string;
  readonly clock: Clock;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly log: Log;
}
