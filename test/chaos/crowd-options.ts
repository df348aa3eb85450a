import type { Random } from "@dray/testing/random";
import type { ChaosCluster } from "./cluster.ts";

/** The parts of the run that a crowd needs. */
export interface CrowdOptions {
  readonly cluster: ChaosCluster;
  readonly random: Random;
  readonly nodes: readonly string[];
  count(what: string): void;
  attempt<T>(act: () => Promise<T>): Promise<T | undefined>;
}

export type Act = readonly [weight: number, act: () => Promise<void>];
