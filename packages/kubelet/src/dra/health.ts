import { readFileSync } from "node:fs";
import { type Clock, type Log, sleep } from "@dray/client";
import { writeFileAtomically } from "@dray/files";
import { HealthStatus, type DeviceHealth as ReportedHealth } from "@dray/rpc/drahealth/v1";
import { shortened } from "../base/text.ts";
import { maxName } from "./response.ts";

/** Milliseconds after its last report before a device becomes Unknown, unless the driver sets a timeout. */
const defaultTimeout = 30_000;
/** Maximum timeout of a driver in milliseconds. */
const maxTimeout = 365 * 24 * 3600 * 1000;
/** Maximum number of devices of a driver: reports are not checked against its slices. */
const maxDevices = 16_384;
/** Maximum length of a message in bytes. Upstream: k8s.io/api/core/v1, ResourceHealthMessageMaxLength. */
const maxMessageBytes = 1024;
/** Minimum interval between two writes of the file in milliseconds, since drivers may report at any rate. */
const writeInterval = 1000;

/** Values of `allocatedResourcesStatus`. */
export type Health = "Healthy" | "Unhealthy" | "Unknown";

/** Health of one device. */
export interface DeviceHealth {
  readonly health: Health;
  /** Message of the driver; "" for none. */
  readonly message: string;
}

/** A device by its names in the cluster. */
export interface DeviceName {
  readonly pool: string;
  readonly device: string;
}

interface Entry extends DeviceName, DeviceHealth {
  /** When its driver last reported it, in milliseconds since the epoch by this machine's clock. */
  readonly updated: number;
  /** Milliseconds after `updated` until it is Unknown. */
  readonly timeout: number;
  /** The instance that reported it; undefined for an entry from the file. */
  readonly source: object | undefined;
}

export interface HealthCacheOptions {
  /** Path of `dra_health_state`. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the health or message of devices of a driver has changed. */
  changed(driver: string, devices: readonly DeviceName[]): void;
}

const unknown: DeviceHealth = { health: "Unknown", message: "" };

/**
 * Health of devices as reported by their drivers (KEP-4680). A device is Unknown unless its driver has
 * reported it within its timeout; Unknown devices are not kept, so that drivers cannot grow the cache.
 *
 * Upstream: pkg/kubelet/cm/dra/healthinfo.go. Unlike there, the end of a timeout and of a stream is reported
 * as a change, and each of two instances of a driver clears its own reports only.
 */
export class HealthCache {
  readonly #options: HealthCacheOptions;
  /** By driver, then by pool and device. */
  readonly #drivers: Map<string, Map<string, Entry>>;
  #cancelExpiry: (() => void) | undefined;
  #dirty = false;
  #writing: Promise<void> | undefined;
  readonly #stop = new AbortController();

  /** A damaged file is logged and replaced: drivers report everything again. */
  constructor(options: HealthCacheOptions) {
    this.#options = options;
    this.#drivers = readHealth(options);
    this.#expireLater();
  }

  get(driver: string, { pool, device }: DeviceName): DeviceHealth {
    const entry = this.#drivers.get(driver)?.get(key(pool, device));
    return entry === undefined || this.#isExpired(entry) ? unknown : entry;
  }

  /**
   * Takes a report of all devices of a driver. Devices that are not in it keep their last report until its
   * timeout. `source` identifies the instance.
   */
  report(driver: string, source: object, devices: readonly ReportedHealth[]): void {
    const { clock, log } = this.#options;
    const known = this.#drivers.get(driver) ?? new Map<string, Entry>();
    const changed: DeviceName[] = [];
    let refused = 0;
    for (const reported of devices) {
      const { poolName: pool = "", deviceName: device = "" } = reported.device ?? {};
      const id = key(pool, device);
      const old = known.get(id);
      if (
        device === "" ||
        device.includes("/") ||
        id.length > maxName ||
        (old === undefined && known.size >= maxDevices)
      ) {
        refused++;
        continue;
      }
      const health = healthOf(reported.health);
      const message = cut(reported.message);
      if (old === undefined ? health !== "Unknown" || message !== "" : differs(old, health, message))
        changed.push({ pool, device });
      const timeout = timeoutOf(reported.healthCheckTimeoutSeconds);
      known.set(id, { pool, device, health, message, updated: clock.now(), timeout, source });
    }
    if (known.size > 0) this.#drivers.set(driver, known);
    if (refused > 0)
      log.debug(
        { driver, refused },
        `devices of a health report are ignored: they are more than ${maxDevices}, or their names are invalid`,
      );
    this.#expireLater();
    if (changed.length === 0) return;
    this.#save();
    this.#options.changed(driver, changed);
  }

  /** Removes the reports of `source`, and those from an earlier run. */
  clear(driver: string, source: object): void {
    this.#remove(driver, (entry) => entry.source === source || entry.source === undefined);
  }

  /** Resolves when the file is up to date. */
  async close(): Promise<void> {
    this.#cancelExpiry?.();
    this.#stop.abort();
    await this.#writing;
  }

  #remove(driver: string, selects: (entry: Entry) => boolean): void {
    const known = this.#drivers.get(driver);
    if (known === undefined) return;
    const removed: DeviceName[] = [];
    let any = false;
    for (const [id, entry] of known) {
      if (!selects(entry)) continue;
      known.delete(id);
      any = true;
      if (differs(entry, unknown.health, unknown.message)) removed.push(entry);
    }
    if (known.size === 0) this.#drivers.delete(driver);
    if (any) this.#save();
    if (removed.length > 0) this.#options.changed(driver, removed);
  }

  #isExpired({ updated, timeout }: Entry): boolean {
    return this.#options.clock.now() - updated > timeout;
  }

  /** Schedules the expiry of the first entry. */
  #expireLater(): void {
    const { clock } = this.#options;
    this.#cancelExpiry?.();
    this.#cancelExpiry = undefined;
    let first = Number.POSITIVE_INFINITY;
    for (const known of this.#drivers.values())
      for (const { updated, timeout } of known.values()) first = Math.min(first, updated + timeout);
    if (first === Number.POSITIVE_INFINITY || this.#stop.signal.aborted) return;
    this.#cancelExpiry = clock.after(Math.max(0, first - clock.now()) + 1, () => {
      for (const driver of [...this.#drivers.keys()]) this.#remove(driver, (entry) => this.#isExpired(entry));
      this.#expireLater();
    });
  }

  #save(): void {
    this.#dirty = true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Not synced: the file is of no use after a reboot. */
  async #write(): Promise<void> {
    const { path, clock, log } = this.#options;
    while (this.#dirty) {
      this.#dirty = false;
      try {
        await writeFileAtomically(path, formatHealth(this.#drivers), { durable: false });
      } catch (error) {
        log.warn({ path, err: error }, "the health of devices could not be saved");
      }
      await sleep(clock, writeInterval, this.#stop.signal);
    }
  }
}

function key(pool: string, device: string): string {
  return `${pool}/${device}`;
}

function differs(old: DeviceHealth, health: Health, message: string): boolean {
  return old.health !== health || old.message !== message;
}

function healthOf(status: HealthStatus): Health {
  if (status === HealthStatus.HEALTHY) return "Healthy";
  return status === HealthStatus.UNHEALTHY ? "Unhealthy" : "Unknown";
}

function timeoutOf(seconds: number): number {
  return seconds > 0 ? Math.min(seconds * 1000, maxTimeout) : defaultTimeout;
}

/** Truncates to the API server's limit in bytes, at a character. Upstream: truncateHealthMessage. */
function cut(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= maxMessageBytes) return message;
  let end = maxMessageBytes - 3;
  // Not within a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${bytes.subarray(0, end).toString()}...`;
}

/** The file in upstream's format: times in RFC 3339, durations in nanoseconds. */
interface HealthFile {
  readonly [driver: string]: {
    readonly Devices: {
      readonly [device: string]: {
        readonly PoolName: string;
        readonly DeviceName: string;
        readonly Health: Health;
        readonly LastUpdated: string;
        readonly HealthCheckTimeout: number;
        readonly Message: string;
      };
    } | null;
  };
}

function formatHealth(drivers: ReadonlyMap<string, ReadonlyMap<string, Entry>>): string {
  const file: HealthFile = Object.fromEntries(
    [...drivers].map(([driver, known]) => [
      driver,
      {
        Devices: Object.fromEntries(
          [...known].map(([id, { pool, device, health, message, updated, timeout }]) => [
            id,
            {
              PoolName: pool,
              DeviceName: device,
              Health: health,
              LastUpdated: new Date(updated).toISOString(),
              HealthCheckTimeout: timeout * 1e6,
              Message: message,
            },
          ]),
        ),
      },
    ]),
  );
  return JSON.stringify(file);
}

function readHealth({ path, log }: HealthCacheOptions): Map<string, Map<string, Entry>> {
  try {
    return parseHealth(readFileSync(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT")
      log.warn(
        { path, reason: shortened((error as Error).message) },
        "the saved health of devices cannot be read: it is Unknown until drivers report again",
      );
    return new Map();
  }
}

function parseHealth(text: string): Map<string, Map<string, Entry>> {
  // Written by this program.
  const file = JSON.parse(text) as HealthFile;
  return new Map(
    Object.entries(file).map(([driver, { Devices }]) => [
      driver,
      new Map(
        Object.values(Devices ?? {}).map((one): [string, Entry] => {
          const { PoolName: pool, DeviceName: device, Health: health, Message: message } = one;
          const updated = Date.parse(one.LastUpdated);
          if (
            typeof pool !== "string" ||
            typeof device !== "string" ||
            typeof message !== "string" ||
            !["Healthy", "Unhealthy", "Unknown"].includes(health) ||
            Number.isNaN(updated)
          )
            throw new Error(`${path(driver, pool, device)} is no health of a device`);
          const timeout = one.HealthCheckTimeout > 0 ? one.HealthCheckTimeout / 1e6 : defaultTimeout;
          return [key(pool, device), { pool, device, health, message, updated, timeout, source: undefined }];
        }),
      ),
    ]),
  );
}

function path(...parts: readonly unknown[]): string {
  return JSON.stringify(parts.map(String).join("/"));
}
