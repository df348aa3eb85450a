import type { Clock, Log } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import type { NodeRuntime } from "./service.ts";

/** The node whose containers a runtime runs. */
export interface RuntimeSurroundings {
  readonly nodeName: string;
  readonly paths: NodePaths;
  readonly nodeAddress: string;
  readonly clock: Clock;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly log: Log;
}

/** Makes the runtime of a node; the agent starts and closes it. */
export type RuntimeFactory = (node: RuntimeSurroundings) => NodeRuntime;
