import { Quantity } from "@dray/api";
import type { Device, ResourceSlice } from "@dray/api/resource/v1";
import type { DeviceRecord } from "../devices/device-record.ts";
import { anyGroups, join, type OpenGroups } from "./compatibility-groups.ts";

/** What one device takes of the counters of its pool, by their positions in `PoolCounters` (KEP-4815). */
export interface Consumption {
  readonly counters: readonly number[];
  /** In billionths. */
  readonly amounts: readonly bigint[];
  /** The counter sets, and the groups declared for each (KEP-5691). */
  readonly sets: readonly { readonly name: string; readonly groups: ReadonlySet<string> }[];
}

/** The shared counters of a pool: their totals, and what each device consumes. */
export class PoolCounters {
  readonly names: readonly { readonly set: string; readonly counter: string }[];
  readonly totals: readonly bigint[];
  readonly #positions: ReadonlyMap<string, number>;
  readonly #consumption = new Map<DeviceRecord, Consumption>();
  /** Devices that consume counters, whichever node they are for. */
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
    this.#positions = new Map([...totals.keys()].map((key, i) => [key, i]));
    this.#consumers = consumers;
  }

  /** Or why the slices and devices contradict each other. */
  static of(
    counterSlices: readonly ResourceSlice[],
    ...devices: readonly (readonly DeviceRecord[])[]
  ): PoolCounters | string {
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
    return new PoolCounters(totals, consumers);
  }

  consumption(record: DeviceRecord): Consumption {
    let known = this.#consumption.get(record);
    if (known === undefined) {
      known = this.#read(record.device);
      this.#consumption.set(record, known);
    }
    return known;
  }

  /**
   * What is left of each counter after all allocated devices; negative where more is allocated than there is. A device
   * that is shared counts once.
   */
  available(): readonly bigint[] {
    const version = this.#consumers[0]?.state.pool.version ?? 0;
    if (version === this.#version) return this.#available;
    const left = [...this.totals];
    for (const record of this.#consumers) {
      if (!record.state.taken) continue;
      const { counters, amounts } = this.consumption(record);
      for (let i = 0; i < counters.length; i++) left[counters[i]!]! -= amounts[i]!;
    }
    this.#available = left;
    this.#version = version;
    this.#overdrawn = left.some((amount) => amount < 0n);
    return left;
  }

  /** More is allocated than there is of some counter: then no device that consumes any can be had. */
  get overdrawn(): boolean {
    this.available();
    return this.#overdrawn;
  }

  /** The groups that allocated devices leave open on a counter set. */
  openGroups(set: string): OpenGroups {
    let open: OpenGroups = anyGroups;
    for (const record of this.#consumers) {
      if (!record.state.taken) continue;
      for (const { name, groups } of this.consumption(record).sets)
        if (name === set) open = join(open, groups);
    }
    return open;
  }

  #read(device: Device): Consumption {
    const counters: number[] = [];
    const amounts: bigint[] = [];
    for (const { counterSet, counters: consumed } of device.consumesCounters ?? []) {
      for (const [counter, { value }] of Object.entries(consumed ?? {})) {
        counters.push(this.#positions.get(`${counterSet}/${counter}`)!);
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
