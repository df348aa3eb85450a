import { type Client, type ClientMetrics, type Clock, type Log, leadWithLease } from "@dray/client";

/** The Lease that several instances of a controller compete for. */
export interface Election {
  readonly namespace: string;
  /** By default the name of the driver. */
  readonly name?: string;
  /** Differs between all instances: the name of the pod, say. */
  readonly identity: string;
  /** Milliseconds: 15 s, 10 s and 2 s by default, as in the Kubernetes components. */
  readonly leaseDuration?: number;
  readonly renewDeadline?: number;
  readonly retryPeriod?: number;
  /** Shows whether this instance leads. */
  readonly metrics?: Pick<ClientMetrics, "setLeader">;
}

export interface CandidateOptions {
  /** Name of the driver. */
  readonly name: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly election?: Election;
}

/** Runs `work` until the signal aborts; with an election, whenever this instance leads. */
export async function whileLeading(
  options: CandidateOptions,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { name, client, clock, log, signal, election } = options;
  if (election === undefined) return work(signal);
  while (!signal.aborted) {
    await leadWithLease({
      ...election,
      name: election.name ?? name,
      client,
      clock,
      log,
      random: Math.random,
      signal,
      lead: work,
    });
  }
}
