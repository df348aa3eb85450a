import { randomUUID } from "node:crypto";
import { ClientMetrics, systemClock } from "@dray/client";
import type { Scheduler, SchedulerConfiguration } from "@dray/scheduler";
import { readSchedulerConfig } from "../../options/scheduler-config.ts";
import {
  bindAddressOption,
  durationOption,
  featuresOption,
  truth,
  wholeNumber,
} from "../../options/values.ts";
import { type ComponentOptions, component, type Election } from "../../process/component.ts";
import { serveHealth } from "../../process/health-server.ts";
import { UsageError } from "../../terminal/failure.ts";
import { say } from "../../terminal/verbosity.ts";

export interface SchedulerFlags extends Omit<ComponentOptions, "leaderElect"> {
  readonly config?: string;
  readonly schedulerName?: string;
  /** True for the flag without a value. */
  readonly leaderElect?: boolean | string;
  readonly leaderElectLeaseDuration?: string;
  readonly leaderElectRenewDeadline?: string;
  readonly leaderElectRetryPeriod?: string;
  readonly leaderElectResourceName?: string;
  readonly leaderElectResourceNamespace?: string;
  readonly bindAddress: string;
  readonly port?: string;
}

export async function scheduler(flags: SchedulerFlags): Promise<void> {
  const features = featuresOption(flags);
  const host = bindAddressOption(flags.bindAddress);
  const port = flags.port === undefined ? undefined : wholeNumber("--port", flags.port, 0, 65535);
  const { startScheduler } = await import("@dray/scheduler");
  const configuration =
    flags.config === undefined
      ? undefined
      : (await readSchedulerConfig("--config", flags.config, features)).configuration;
  if (flags.schedulerName === "") throw new UsageError("--scheduler-name: must not be empty");
  const election = electionOf(flags, configuration);
  const kubeconfig = flags.kubeconfig ?? configuration?.kubeconfig;
  const metrics = port === undefined ? undefined : new ClientMetrics(() => performance.now());
  let running: Scheduler | undefined;
  const health =
    port === undefined
      ? undefined
      : await serveHealth({
          host,
          port,
          checks: [{ name: "sched-handler-sync", types: ["readyz"], passes: () => running !== undefined }],
          metrics: () => `${metrics?.text() ?? ""}${running?.metrics() ?? ""}`,
        });
  if (health !== undefined) say(`metrics and health are at ${health.url}\n`);
  try {
    await component(
      "kube-scheduler",
      { ...flags, leaderElect: election !== undefined, ...(kubeconfig !== undefined && { kubeconfig }) },
      async ({ client, log, signal }) => {
        running = await startScheduler({
          client,
          log,
          signal,
          clock: systemClock,
          newId: () => randomUUID(),
          random: Math.random,
          features,
          ...(configuration && { configuration }),
          ...(flags.schedulerName && { name: flags.schedulerName }),
        });
        return running;
      },
      { election, metrics },
    );
  } finally {
    await health?.close();
  }
}

/**
 * Returns the options of the lease, where flags override the configuration; undefined: runs without a lease.
 */
function electionOf(
  flags: SchedulerFlags,
  configuration: SchedulerConfiguration | undefined,
): Election | undefined {
  const given = configuration?.leaderElection;
  const { leaderElect = given?.leaderElect ?? false } = flags;
  const wanted = typeof leaderElect === "string" ? truth("--leader-elect", leaderElect) : leaderElect;
  if (!wanted) return undefined;
  const time = (flag: string, text: string | undefined, otherwise: number): number =>
    text === undefined ? otherwise : durationOption(flag, text);
  const leaseDuration = time(
    "--leader-elect-lease-duration",
    flags.leaderElectLeaseDuration,
    given?.leaseDuration ?? 15_000,
  );
  const renewDeadline = time(
    "--leader-elect-renew-deadline",
    flags.leaderElectRenewDeadline,
    given?.renewDeadline ?? 10_000,
  );
  const retryPeriod = time(
    "--leader-elect-retry-period",
    flags.leaderElectRetryPeriod,
    given?.retryPeriod ?? 2_000,
  );
  return {
    leaseDuration,
    renewDeadline,
    retryPeriod,
    name: flags.leaderElectResourceName ?? given?.resourceName ?? "kube-scheduler",
    namespace: flags.leaderElectResourceNamespace ?? given?.resourceNamespace ?? "kube-system",
  };
}
