import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  type Client,
  type ClientMetrics,
  type LeaderElectionOptions,
  type Log,
  leadWithLease,
  systemClock,
} from "@dray/client";
import { connect } from "../connection/connect.ts";
import { createLog } from "../log/create.ts";
import { endRequested } from "./end-requested.ts";

export interface ComponentOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
  readonly leaderElect?: boolean;
}

/** Parts of a component that its command adds. */
export interface ComponentParts {
  /** The lease of the component; the one of its name in kube-system if absent. */
  readonly election?: Election | undefined;
  /** Metrics of its requests and its lease; absent where they are not served. */
  readonly metrics?: ClientMetrics | undefined;
}

/** Milliseconds in which a failed component may end by itself. */
const endTimeout = 5000;

/** The lease that a component holds while it works. */
export type Election = Pick<LeaderElectionOptions, "name" | "namespace"> &
  Partial<Pick<LeaderElectionOptions, "leaseDuration" | "renewDeadline" | "retryPeriod">>;

/** Runs a component with its own connection until a signal, alone or while it holds a lease. */
export async function component(
  name: string,
  options: ComponentOptions,
  start: (context: {
    client: Client;
    log: Log;
    signal: AbortSignal;
    ca: string | undefined;
  }) => Promise<{ readonly stopped: Promise<void> }>,
  { election = { name, namespace: "kube-system" }, metrics }: ComponentParts = {},
): Promise<void> {
  const log = createLog(name.replace(/^kube-/, ""));
  const { client, ca } = await connect(options, `${name}/dray`, log, metrics);
  const stop = new AbortController();
  const failed = new AbortController();
  const ended = endRequested(failed.signal).then(() => stop.abort());
  const run = async (signal: AbortSignal): Promise<void> => {
    const running = await start({ client, log, signal, ca });
    log.info({}, `${name} is running`);
    await running.stopped;
  };
  try {
    if (options.leaderElect)
      await underLease(run, { client, log, signal: stop.signal, ...(metrics && { metrics }), ...election });
    else await run(stop.signal);
  } catch (error) {
    failed.abort();
    client.close();
    setTimeout(() => process.exit(1), endTimeout).unref();
    throw error;
  }
  await ended;
  client.close();
}

/**
 * Runs while this process holds the lease. Throws at once when the lease is lost, as running work may hang:
 * another process leads then, and a supervisor restarts this one.
 * Upstream: cmd/kube-scheduler/app/server.go, Run (OnStoppedLeading)
 */
async function underLease(
  run: (signal: AbortSignal) => Promise<void>,
  options: Election & Pick<LeaderElectionOptions, "client" | "log" | "signal" | "metrics">,
): Promise<void> {
  const { namespace, name, signal: stop } = options;
  const loss = Promise.withResolvers<never>();
  const lead = async (signal: AbortSignal): Promise<void> => {
    let isOver = false;
    const lose = (): void => {
      if (!isOver && !stop.aborted)
        loss.reject(new Error(`the lease ${namespace}/${name} is lost: start this process again`));
    };
    signal.addEventListener("abort", lose, { once: true });
    try {
      await run(signal);
    } finally {
      isOver = true;
    }
  };
  const leading = leadWithLease({
    ...options,
    clock: systemClock,
    random: Math.random,
    identity: `${hostname()}_${randomUUID()}`,
    lead,
  });
  await Promise.race([leading, loss.promise]);
}
