import type { NodeRuntime } from "../../runtime/service.ts";

/** An ability that a runtime may lack. */
export type Ability =
  | "network of its own"
  | "hostname of its own"
  | "name servers of its own"
  | "program of the image"
  | "device nodes"
  | "private processes"
  | "bounds of resources"
  | "rotation under readers"
  | "read-only mounts"
  | "terminals"
  | "kills commands of clients that go away"
  | "statistics";

/** The machine that the suite runs on. */
export interface ContractMachine {
  /** A folder for logs and volumes. */
  readonly folder: string;
  /** An image with a shell, whose own program is that shell. */
  readonly image: string;
  /** Folder of the runtime's CDI specs. */
  readonly cdi: string;
  /** Makes a runtime on the existing state, as an agent does; not started. */
  open(): NodeRuntime;
  /** Removes everything. */
  close(): Promise<void>;
}

export interface ContractOptions {
  /** Abilities that the runtime lacks, with the reasons. */
  readonly cannot?: Readonly<Partial<Record<Ability, string>>>;
  /** Why there is no such runtime here; undefined if there is. */
  readonly skip?: string | undefined;
  begin(): Promise<ContractMachine>;
}

/** Abilities that a runtime lacks, with the reasons. */
export type Lacking = NonNullable<ContractOptions["cannot"]>;
