import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, type Clock, type Log, sleep } from "@dray/client";
import { makeFolder } from "@dray/files";
import { writeCommonSpec } from "./claims/cdi.ts";
import { checkpoints } from "./claims/checkpoint.ts";
import { type Claims, createClaims } from "./claims/claims.ts";
import { claimsAreLeft } from "./claims/ending.ts";
import { noLock, openInstanceLock } from "./claims/instance-lock.ts";
import { metadataFiles } from "./claims/metadata.ts";
import type { CrashStep } from "./claims/steps.ts";
import { type HealthcheckOptions, serveHealthcheck } from "./plugin/healthcheck.ts";
import { createMetrics, type MetricsOptions, serveMetrics } from "./plugin/metrics.ts";
import { type NodeAPI, servePlugin } from "./plugin/plugin.ts";
import { aborted } from "./shared/aborted.ts";
import { checkDriverName } from "./shared/names.ts";
import { wrongShape } from "./shared/shapes.ts";
import { deciding, followDiscovery } from "./slices/discovery.ts";
import { createPublisher, type SliceStatistics } from "./slices/publisher.ts";
import { type Driver, metadataVersions } from "./types/driver.ts";
import { withResourceVersions } from "./versions/client.ts";

export interface RunOptions {
  readonly client: Client;
  readonly nodeName: string;
  /** The kubelet's folder of registration sockets: `/var/lib/kubelet/plugins_registry`. */
  readonly registrarDirectory: string;
  /** The kubelet's folder of plugins: `/var/lib/kubelet/plugins`. */
  readonly pluginsDirectory: string;
  /** Folder of the CDI specs: `/var/run/cdi`. */
  readonly cdiDirectory: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /**
   * The UID of the driver's pod, when an update may run two of them for a moment. Needs the program `flock`
   * (util-linux or busybox), by which they exclude each other, as instances of the Go helper do.
   */
  readonly podUID?: string;
  /**
   * False: `prepare` and `unprepare` are called for different claims at the same time, for one claim still
   * one call at a time in this instance. For drivers that support it and whose devices take long to become
   * ready. True by default.
   */
  readonly serialize?: boolean;
  /** Called whenever all pools are published as `discover` yielded them last. */
  readonly onPublished?: (statistics: SliceStatistics) => void;
  /** Serves gRPC's health check there. */
  readonly healthcheck?: HealthcheckOptions;
  /** Serves metrics in the text format of Prometheus there, under `/metrics`. */
  readonly metrics?: MetricsOptions;
  /** The versions of the DRA gRPC API that are offered to the kubelet; all by default. */
  readonly nodeAPIs?: readonly NodeAPI[];
  /** Names this boot of the machine; read from the kernel by default. */
  readonly bootID?: string;
}

const vanishedEvery = 10 * 60_000;
/**
 * Runs a driver on a node until the signal aborts. Then it publishes no more and serves on while claims are
 * being unprepared (at most 20 seconds; at once where none is prepared), takes its sockets away and resolves;
 * its slices stay for the kubelet to remove, and claims of pods that go on stay prepared for the next start.
 * Rejects when the driver cannot serve, or when its `discover` fails and `onError` does not ask for another
 * try.
 */
export async function runDriver<P>(driver: Driver<P>, options: RunOptions): Promise<void> {
  return runDriverInSteps(driver, options);
}

/**
 * `runDriver`; `atStep` is called at each step of preparing and unpreparing, and what it throws is as a
 * crash.
 */
export async function runDriverInSteps<P>(
  driver: Driver<P>,
  options: RunOptions,
  atStep?: (step: CrashStep) => void,
): Promise<void> {
  const { nodeName, pluginsDirectory, cdiDirectory, clock, log } = options;
  checkDriver(driver);
  const nodeAPIs = options.nodeAPIs ?? ["v1", "v1beta1"];
  if (nodeAPIs.length === 0 || nodeAPIs.some((one) => one !== "v1" && one !== "v1beta1")) {
    throw new TypeError(wrongShape("nodeAPIs", nodeAPIs, 'a list with "v1", "v1beta1" or both'));
  }
  const client = withResourceVersions(options.client, clock);
  const folder = join(pluginsDirectory, driver.name);
  await makeFolder(folder, 0o750);
  // As in the Go helper: one that has the default sockets has no other instance beside it.
  const lock = options.podUID === undefined ? noLock : await openInstanceLock(join(folder, "serialize.lock"));
  const claims = createClaims({
    driver,
    client,
    checkpoints: checkpoints(join(folder, "claims")),
    cdiDirectory,
    bootID: options.bootID ?? (await readBootID()),
    metadata:
      driver.metadata === undefined
        ? undefined
        : metadataFiles({
            driver: driver.name,
            pluginsDirectory,
            cdiDirectory,
            versions: driver.metadata.versions,
          }),
    lock,
    serialize: options.serialize ?? true,
    clock,
    log,
    atStep,
  });
  await writeCommonSpec(driver, cdiDirectory);

  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const fail = (error: unknown): void => {
    if (!signal.aborted) failed.abort(error);
  };
  const decide = deciding(driver);
  const replaced = new AbortController();
  const metrics = createMetrics(driver.name, nodeName, claims, {
    ...options.metrics,
    elapsed: () => performance.now(),
  });
  const plugin = await servePlugin({
    ...options,
    driver,
    claims,
    nodeAPIs,
    metrics,
    fail(error) {
      fail(error);
      replaced.abort();
    },
  });
  const publisher = createPublisher({
    client,
    driver: driver.name,
    scope: { nodeName },
    clock,
    log,
    decide,
    onPublished: options.onPublished,
  });
  metrics.slices = () => publisher.statistics;
  const servers: { close(): Promise<void> }[] = [plugin];
  try {
    const { healthcheck, metrics: metricsAt } = options;
    if (healthcheck !== undefined) {
      servers.unshift(await serveHealthcheck(healthcheck, plugin.paths, nodeAPIs, log));
    }
    if (metricsAt !== undefined) servers.unshift(await serveMetrics(metricsAt, metrics));
    await Promise.all([
      publisher.run(signal).catch(fail),
      followDiscovery({ source: driver, publisher, decide, clock, log, signal }).catch(fail),
      cleanUp(claims, clock, log, signal),
      aborted(signal).then(() =>
        claimsAreLeft({
          claims,
          clock,
          log,
          signal: AbortSignal.any([failed.signal, replaced.signal]),
        }),
      ),
    ]);
  } finally {
    lock.end();
    for (const server of servers) await server.close();
  }
  if (failed.signal.aborted) throw failed.signal.reason;
}

async function cleanUp(claims: Claims, clock: Clock, log: Log, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(clock, vanishedEvery, signal);
    if (signal.aborted) return;
    try {
      await claims.removeVanished();
    } catch (error) {
      log.error({ error: (error as Error).message }, "Looking for vanished claims failed");
    }
  }
}

/** Throws for an object that is not a driver. */
function checkDriver<P>(driver: Driver<P>): void {
  const { name } = driver;
  checkDriverName(name);
  const versions: unknown = driver.metadata?.versions;
  if (
    driver.metadata !== undefined &&
    !(
      Array.isArray(versions) &&
      versions.length > 0 &&
      versions.every((one) => metadataVersions.includes(one))
    )
  ) {
    const accepted = `a list with at least one of ${metadataVersions.join(", ")}`;
    throw new TypeError(wrongShape(`driver ${name}: metadata.versions`, versions, accepted));
  }
  const schema: unknown = driver.parameters;
  if (schema !== undefined && typeof driver.parameters?.["~standard"]?.validate !== "function") {
    const accepted = "a schema with Standard Schema, such as those of zod and valibot";
    throw new TypeError(wrongShape(`driver ${name}: parameters`, schema, accepted));
  }
  for (const method of ["discover", "prepare", "unprepare"] as const) {
    const value: unknown = driver[method];
    if (typeof value !== "function")
      throw new TypeError(wrongShape(`driver ${name}: ${method}`, value, "a function"));
  }
}

/** Linux names each boot; elsewhere nothing is known, and claims are prepared anew after each start. */
async function readBootID(): Promise<string> {
  try {
    return (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return `process ${process.pid}`;
  }
}
