import { Quantity } from "@dray/api";
import type { Device, ResourceSlice } from "@dray/api/resource/v1";
import type { DeviceRecord } from "../devices/device-record.ts";
import { anyGroups, joinGroups, type OpenGroups } from "./compatibility-groups.ts";

/** Consumption of the counters of a pool by one device (KEP-4815). */
export interface CounterConsumption {
  /** Indexes into `SharedCounters.names`. */
  readonly counters: readonly number[];
  /** For each of them, in billionths. */
  readonly amounts: readonly bigint[];
  /** The counter sets, and the compatibility groups of the device on each (KEP-5963). */
  readonly sets: readonly { readonly name: string; readonly groups: ReadonlySet<string> }[];
}

/** The shared counters of a pool: totals, and the consumption of each device (KEP-4815). */
export class SharedCounters {
  readonly names: readonly { readonly set: string; readonly counter: string }[];
  /** In billionths. */
  readonly totals: readonly bigint[];
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #consumption = new Map<DeviceRecord, CounterConsumption>();
  /** Devices that consume counters, for any node. */
  readonly #consumers: readonly DeviceRecord[];
  #available: readonly bigint[] = [];
  #version = -1;
  #overdrawn = false;

  private constructor(totals: ReadonlyMap<string, bigint>, consumers: readonly DeviceRecord[]) {
    this.names = [...totals.keys()].map((key) => {
      const slash = key.indexOf("/");
      return { set: key.slice(0, slash), counter: key.slice(slash + 1) };
    });
    this.totals = [...totals.values()];
    this.#indexes = new Map([...totals.keys()].map((key, i) => [key, i]));
    this.#consumers = consumers;
  }

  /** Returns the counters, or why slices and devices contradict each other. */
  static of(
    counterSlices: readonly ResourceSlice[],
    ...devices: readonly (readonly DeviceRecord[])[]
  ): SharedCounters | string {
    const totals = new Map<string, bigint>();
    const sets = new Set<string>();
    for (const { spec } of counterSlices) {
      for (const set of spec.sharedCounters ?? []) {
        if (sets.has(set.name)) return `duplicate counter set name ${set.name}`;
        sets.add(set.name);
        for (const [counter, { value }] of Object.entries(set.counters ?? {})) {
          totals.set(`${set.name}/${counter}`, Quantity.parse(value).nanoValue());
        }
      }
    }
    const consumers = devices.flat().filter(({ device }) => consumesCounters(device));
    for (const { device } of consumers) {
      for (const { counterSet, counters } of device.consumesCounters ?? []) {
        if (!sets.has(counterSet)) return `counter set ${counterSet} not found`;
        for (const counter of Object.keys(counters ?? {})) {
          if (!totals.has(`${counterSet}/${counter}`)) {
            return `counter ${counter} not found in counter set ${counterSet}`;
          }
        }
      }
    }
    return new SharedCounters(totals, consumers);
  }

  consumption(record: DeviceRecord): CounterConsumption {
    let consumption = this.#consumption.get(record);
    if (consumption === undefined) {
      consumption = this.#consumptionOf(record.device);
      this.#consumption.set(record, consumption);
    }
    return consumption;
  }

  /**
   * Returns the remaining amount of each counter, in billionths: negative if it is overdrawn. A device with
   * several shares consumes its counters once.
   */
  available(): readonly bigint[] {
    const version = this.#consumers[0]?.state.pool.version ?? 0;
    if (version === this.#version) return this.#available;
    const left = [...this.totals];
    for (const record of this.#consumers) {
      if (!record.state.isAllocated) continue;
      const { counters, amounts } = this.consumption(record);
      for (let i = 0; i < counters.length; i++) left[counters[i]!]! -= amounts[i]!;
    }
    this.#available = left;
    this.#version = version;
    this.#overdrawn = left.some((amount) => amount < 0n);
    return left;
  }

  /** A counter is overdrawn: no device that consumes counters of the pool can be allocated. */
  get isOverdrawn(): boolean {
    this.available();
    return this.#overdrawn;
  }

  /** The groups that allocated devices leave open on a counter set. */
  openGroups(set: string): OpenGroups {
    let open: OpenGroups = anyGroups;
    for (const record of this.#consumers) {
      if (!record.state.isAllocated) continue;
      for (const { name, groups } of this.consumption(record).sets)
        if (name === set) open = joinGroups(open, groups);
    }
    return open;
  }

  #consumptionOf(device: Device): CounterConsumption {
    const counters: number[] = [];
    const amounts: bigint[] = [];
    for (const { counterSet, counters: consumed } of device.consumesCounters ?? []) {
      for (const [counter, { value }] of Object.entries(consumed ?? {})) {
        // `of` rejects a device that consumes counters of no set.
        counters.push(this.#indexes.get(`${counterSet}/${counter}`)!);
        amounts.push(Quantity.parse(value).nanoValue());
      }
    }
    const sets = (device.consumesCounters ?? []).map(({ counterSet, compatibilityGroups }) => ({
      name: counterSet,
      groups: new Set(compatibilityGroups),
    }));
    return { counters, amounts, sets };
  }
}

export function consumesCounters(device: Device): boolean {
  return device.consumesCounters !== undefined && device.consumesCounters.length > 0;
}
