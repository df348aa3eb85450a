import { createHash } from "node:crypto";
import { ConfigMap } from "@dray/api/core/v1";
import type { Client, Clock, Informer } from "@dray/client";
import { type FleetDevice, type FleetPool, type Health, healths } from "../fleet/fleet.ts";

/**
 * The health of a simulated device as a person sets it: a ConfigMap for each device, so that it reaches the
 * driver through the API alone, and outlives it.
 */
export const healthNamespace = "dray-system";
/** On every such ConfigMap; its value is the name of the driver. */
export const healthLabel = "dray.dev/device-health";

/** Names one device of a cluster. */
export interface DeviceRef {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
}

/** The health that a user has set for a device. */
export interface HealthRecord extends DeviceRef {
  readonly health: Health;
  readonly message?: string;
  /** Replaces the effect of the device's taint. */
  readonly effect?: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

const keyOf = ({ driver, pool, device }: DeviceRef): string => JSON.stringify([driver, pool, device]);

/** The name of the ConfigMap of a device. */
export function healthRecordName(ref: DeviceRef): string {
  return `device-health-${createHash("sha256").update(keyOf(ref)).digest("hex").slice(0, 16)}`;
}

/** The ConfigMap that says so. */
export function healthConfigMap(record: HealthRecord): {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly labels: Record<string, string>;
  };
  readonly data: Record<string, string>;
} {
  const { driver, pool, device, health, message, effect, since } = record;
  return {
    metadata: {
      namespace: healthNamespace,
      name: healthRecordName(record),
      labels: { [healthLabel]: driver },
    },
    data: {
      driver,
      pool,
      device,
      health,
      since: new Date(since).toISOString(),
      ...(message !== undefined && { message }),
      ...(effect !== undefined && { effect }),
    },
  };
}

/** The record of a ConfigMap; undefined if it has another form. */
export function readHealthConfigMap({ data = {} }: Pick<ConfigMap, "data">): HealthRecord | undefined {
  const { driver, pool, device, health, message, effect, since } = data as Record<string, string | undefined>;
  if (driver === undefined || pool === undefined || device === undefined) return undefined;
  if (!healths.includes(health as Health)) return undefined;
  const time = Date.parse(since ?? "");
  return {
    driver,
    pool,
    device,
    health: health as Health,
    since: Number.isNaN(time) ? 0 : time,
    ...(message && { message }),
    ...(effect && { effect }),
  };
}

/** The records of a cluster, followed for all drivers of a process. */
export class HealthRecords {
  readonly #informer: Informer<ConfigMap>;
  readonly #listeners = new Set<(ref: DeviceRef | undefined) => void>();

  constructor(client: Client) {
    this.#informer = client.informer(ConfigMap, {
      namespace: healthNamespace,
      labelSelector: healthLabel,
      indexes: {
        device: (map) => {
          const record = readHealthConfigMap(map);
          return record === undefined ? [] : [keyOf(record)];
        },
      },
    });
    const changed = (map: ConfigMap): void => {
      const ref = readHealthConfigMap(map);
      for (const listener of this.#listeners) listener(ref);
    };
    this.#informer.handle({ add: changed, update: changed, delete: changed });
  }

  /** Resolves when what is there is known. */
  start(signal: AbortSignal): Promise<void> {
    return this.#informer.start(signal);
  }

  get(ref: DeviceRef): HealthRecord | undefined {
    const [map] = this.#informer.byIndex("device", keyOf(ref));
    return map && readHealthConfigMap(map);
  }

  /** Calls `changed` with the device after each change until the function that it returns is called. */
  onChange(changed: (ref: DeviceRef | undefined) => void): () => void {
    this.#listeners.add(changed);
    return () => void this.#listeners.delete(changed);
  }
}

export interface DeviceState {
  readonly health: Health;
  readonly message?: string;
  readonly effect?: string;
}

/** Source of the health records that users have written, for `DeviceHealths`. */
export interface HealthSource {
  get(ref: DeviceRef): HealthRecord | undefined;
  onChange(changed: () => void): () => void;
}

export interface DeviceHealthsOptions {
  readonly driver: string;
  readonly pools: readonly FleetPool[];
  readonly records: HealthSource;
  readonly clock: Clock;
}

/**
 * How the devices of one driver are: of the fleet file's schedule and people's records the newest word
 * counts.
 */
export class DeviceHealths {
  readonly #options: DeviceHealthsOptions;
  readonly #start: number;

  constructor(options: DeviceHealthsOptions) {
    this.#options = options;
    this.#start = options.clock.now();
  }

  of(pool: string, { device, behaviour }: FleetDevice): DeviceState {
    const { driver, records, clock } = this.#options;
    const now = clock.now();
    const scheduled = behaviour.health.findLast(({ after }) => this.#start + after <= now);
    const record = records.get({ driver, pool, device: device.name });
    if (record !== undefined && (scheduled === undefined || record.since >= this.#start + scheduled.after)) {
      const { health, message, effect } = record;
      return { health, ...(message && { message }), ...(effect && { effect }) };
    }
    if (scheduled === undefined) return { health: "Healthy" };
    const { health, message } = scheduled;
    return { health, ...(message && { message }) };
  }

  /** Yields now, and again whenever the health of a device may have changed, until the signal aborts. */
  async *changes(signal: AbortSignal): AsyncGenerator<void> {
    const { clock, records, pools } = this.#options;
    const times = [
      ...new Set(
        pools.flatMap(({ devices }) =>
          devices.flatMap(({ behaviour }) => behaviour.health.map(({ after }) => after)),
        ),
      ),
    ].sort((a, b) => a - b);
    let pending = true;
    let wake = (): void => {};
    const ring = (): void => {
      pending = true;
      wake();
    };
    const forget = records.onChange(ring);
    const cancels = times
      .filter((after) => this.#start + after > clock.now())
      .map((after) => callAt(clock, this.#start + after, ring));
    signal.addEventListener("abort", ring, { once: true });
    try {
      while (!signal.aborted) {
        if (pending) {
          pending = false;
          yield;
        } else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      forget();
      for (const cancel of cancels) cancel();
      signal.removeEventListener("abort", ring);
    }
  }
}

/** Calls `run` when the clock shows that time, in milliseconds; returns what cancels it. */
function callAt(clock: Clock, time: number, run: () => void): () => void {
  let cancel = (): void => {};
  const look = (): void => {
    const rest = time - clock.now();
    // A timer may be a moment early.
    if (rest > 0) cancel = clock.after(rest, look);
    else run();
  };
  look();
  return () => cancel();
}
