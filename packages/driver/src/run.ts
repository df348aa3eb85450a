import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, type Clock, type Log, sleep } from "@dray/client";
import { checkpoints } from "./checkpoint.ts";
import { type Claims, createClaims, writeCommonSpec } from "./claims.ts";
import type { Driver } from "./driver.ts";
import { claimsAreLeft } from "./ending.ts";
import { type HealthcheckOptions, serveHealthcheck } from "./healthcheck.ts";
import { servePlugin } from "./plugin.ts";
import { createPublisher, type Publisher } from "./publisher.ts";

export interface RunOptions {
  readonly client: Client;
  readonly nodeName: string;
  /** The kubelet's folder of registration sockets: `/var/lib/kubelet/plugins_registry`. */
  readonly registrarDirectory: string;
  /** The kubelet's folder of plugins: `/var/lib/kubelet/plugins`. */
  readonly pluginsDirectory: string;
  /** Where CDI specs are written: `/var/run/cdi`. */
  readonly cdiDirectory: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** The UID of the driver's pod, when an update may run two of them for a moment. */
  readonly podUID?: string;
  /** Serves gRPC's health check there. */
  readonly healthcheck?: HealthcheckOptions;
  /** Names this boot of the machine; read from the kernel by default. */
  readonly bootID?: string;
}

const vanishedEvery = 10 * 60_000;

/**
 * Runs a driver on a node until the signal aborts. Then it publishes no more and serves on while claims are being
 * unprepared (at most 20 seconds; at once where none is prepared), takes its sockets away and resolves; its slices stay
 * for the kubelet to remove, and claims of pods that go on stay prepared for the next start. Rejects when the driver
 * cannot serve, or when its `discover` fails.
 */
export async function runDriver(driver: Driver, options: RunOptions): Promise<void> {
  const { client, nodeName, pluginsDirectory, cdiDirectory, clock, log } = options;
  checkName(driver.name);
  const claims = createClaims({
    driver,
    client,
    checkpoints: checkpoints(join(pluginsDirectory, driver.name, "claims")),
    cdiDirectory,
    bootID: options.bootID ?? (await readBootID()),
    clock,
    log,
  });
  await writeCommonSpec(driver, cdiDirectory);

  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const fail = (error: unknown): void => {
    if (!signal.aborted) failed.abort(error);
  };
  const replaced = new AbortController();
  const plugin = await servePlugin({
    ...options,
    driver,
    claims,
    fail(error) {
      fail(error);
      replaced.abort();
    },
  });
  const publisher = createPublisher({ client, driver: driver.name, nodeName, clock, log });
  try {
    const health =
      options.healthcheck === undefined
        ? undefined
        : await serveHealthcheck(options.healthcheck, plugin.paths, log);
    try {
      await Promise.all([
        publisher.run(signal).catch(fail),
        follow(driver, publisher, log, signal).catch(fail),
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
      await health?.close();
    }
  } finally {
    await plugin.close();
  }
  if (failed.signal.aborted) throw failed.signal.reason;
}

async function follow(driver: Driver, publisher: Publisher, log: Log, signal: AbortSignal): Promise<void> {
  const discovering = async (): Promise<void> => {
    for await (const pools of driver.discover(signal)) {
      if (signal.aborted) return;
      try {
        publisher.publish(pools);
      } catch (error) {
        // What was published before stays; asking again would bring the same.
        log.error({ error: (error as Error).message }, "The driver's pools cannot be published");
      }
    }
    await aborted(signal);
  };
  // A driver need not heed the signal while it waits for news.
  await Promise.race([discovering(), aborted(signal)]);
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

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function checkName(name: string): void {
  if (name.length > 63 || !/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(name)) {
    throw new Error(
      `driver name ${JSON.stringify(name)} must be a lower-case DNS subdomain of at most 63 characters`,
    );
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
