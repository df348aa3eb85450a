import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Features } from "@dray/api";
import { parseYAML, YAMLError } from "@dray/api/yaml";
import { systemClock } from "@dray/client";
import type { Scheduler, SchedulerConfiguration } from "@dray/scheduler";
import { UsageError } from "../failure.ts";
import { serveHealth } from "../health-server.ts";
import { bindAddressOption, durationOption, featuresOption, truth, wholeNumber } from "../options.ts";
import { say } from "../verbosity.ts";
import { type ComponentOptions, component, type Election } from "./components.ts";

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
    flags.config === undefined ? undefined : await readConfiguration(flags.config, features);
  if (flags.schedulerName === "") throw new UsageError("--scheduler-name: must not be empty");
  const election = electionOf(flags, configuration);
  const kubeconfig = flags.kubeconfig ?? configuration?.kubeconfig;
  let running: Scheduler | undefined;
  const health =
    port === undefined
      ? undefined
      : await serveHealth({
          host,
          port,
          notReady: () =>
            running === undefined ? "[-]sched-handler-sync failed: reason withheld" : undefined,
          metrics: () => running?.metrics() ?? "",
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
      election,
    );
  } finally {
    await health?.close();
  }
}

/** Errors name the file. */
async function readConfiguration(file: string, features: Features): Promise<SchedulerConfiguration> {
  const { ConfigurationError, readSchedulerConfiguration } = await import("@dray/scheduler");
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`--config ${file}: cannot be read: ${(error as Error).message}`, { cause: error });
  }
  try {
    const { value, duplicates } = parseYAML(text);
    if (duplicates.length > 0) throw new ConfigurationError(duplicates);
    return readSchedulerConfiguration(value, features);
  } catch (error) {
    if (error instanceof YAMLError) throw new Error(`${file}: ${error.message}`, { cause: error });
    if (!(error instanceof ConfigurationError)) throw error;
    const [first = "", ...others] = error.problems;
    const text = others.length === 0 ? ` ${first}` : error.problems.map((each) => `\n  ${each}`).join("");
    throw new Error(`${file}:${text}`, { cause: error });
  }
}

/** What the flags say of the lease, over the configuration; undefined: run without one. */
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
