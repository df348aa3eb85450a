import type { Features } from "@dray/api";
import type { Client, Clock, Log } from "@dray/client";
import type { SchedulerConfiguration } from "../config/types.ts";
import type { Plugin } from "../framework/framework.ts";
import type { WaitingPods } from "../framework/waiting-pods.ts";

/** Dependencies for plugins of a caller. */
export interface PluginHandle {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** The pods that Permit holds back. */
  readonly waiting: WaitingPods;
}

export interface SchedulerOptions {
  /** As `system:kube-scheduler`. */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** Fresh lowercase UUIDs, for shares of devices. */
  readonly newId: () => string;
  /** Between 0 and 1: breaks ties between equally good nodes. */
  readonly random: () => number;
  readonly features: Features;
  /** Profiles, plugins and their arguments; the defaults if absent. */
  readonly configuration?: SchedulerConfiguration;
  /**
   * Which pods are ours, by `spec.schedulerName`, where no configuration says so; `default-scheduler` if
   * absent.
   */
  readonly name?: string;
  /**
   * Plugins besides the default ones. Without a configuration they come after those at each extension point.
   */
  readonly plugins?: (handle: PluginHandle) => readonly Plugin[];
  /** Milliseconds from any point on, for metrics; those of this process if absent. */
  readonly elapsed?: () => number;
  /** Ends the scheduler. */
  readonly signal: AbortSignal;
}
