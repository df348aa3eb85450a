import type { TestCluster, TestClusterOptions } from "@dray/cluster/testing";
import type { Peer } from "../peers.ts";

/** A program of others, mostly a driver or device plugin, and what it must do on Dray. */
export interface DriverTrial {
  readonly name: string;
  /** Its programs; they are not changed for Dray. */
  readonly programs: readonly Peer[];
  /** Options of its cluster, in addition to one node; `folder` is that of the trial. */
  readonly cluster?: (folder: string) => TestClusterOptions;
  /** Why it cannot run on this machine although its programs are built; undefined if it can. */
  obstacle?(): string | undefined;
  /** Rejects if something differs from what is expected. */
  run(cluster: TestCluster, context: TrialContext): Promise<void>;
}

/** A trial that needs more than a cluster of Dray in this process. */
export interface IndependentTrial extends Pick<DriverTrial, "name" | "programs" | "obstacle"> {
  /** Starts all that it needs, and ends it. Rejects if something differs from what is expected. */
  runAlone(context: TrialContext): Promise<void>;
}

/** The means of a trial in addition to its cluster. */
export interface TrialContext {
  /** For files; removed afterwards. */
  readonly folder: string;
  print(text: string): void;
}
