import type { Client } from "@dray/client";
import type { Users } from "./credentials.ts";
import type { HollowNode } from "./hollow-node.ts";

/** The means of a scenario. */
export interface Stage {
  readonly admin: Client;
  readonly users: Users;
  readonly nodes: readonly HollowNode[];
  /** Its own; made before it runs, and deleted after it. */
  readonly namespace: string;
  /** A name for an object without a namespace that no other scenario has. */
  readonly unique: string;
}

/** Something that people do with a cluster, and what must have come of it. Rejects if it has not. */
export interface Scenario {
  readonly name: string;
  run(stage: Stage): Promise<void>;
}
