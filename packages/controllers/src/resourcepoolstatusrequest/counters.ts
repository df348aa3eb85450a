import { Quantity } from "@dray/api";
import type { CounterSet, Device, DeviceCounterConsumption } from "@dray/api/resource/v1";

/** Free counters of a pool, by set and counter. */
export class CounterRoom {
  readonly #left: ReadonlyMap<string, Map<string, Quantity>>;

  constructor(sets: Iterable<readonly [string, Iterable<readonly [string, Quantity]>]>) {
    this.#left = new Map([...sets].map(([set, counters]) => [set, new Map(counters)]));
  }

  /** Counters of a pool less those of devices in use; each device counts once, as for the scheduler. */
  static of(sets: readonly CounterSet[], devicesInUse: readonly Device[]): CounterRoom {
    const left = new Map<string, Map<string, Quantity>>();
    for (const { name, counters } of sets) {
      const set = left.get(name) ?? new Map<string, Quantity>();
      for (const [counter, { value }] of Object.entries(counters ?? {}))
        set.set(counter, Quantity.parse(value));
      left.set(name, set);
    }
    const room = new CounterRoom(left);
    for (const { consumesCounters = [] } of devicesInUse) room.take(consumesCounters);
    return room;
  }

  copy(): CounterRoom {
    return new CounterRoom(this.#left);
  }

  fits(cost: readonly DeviceCounterConsumption[]): boolean {
    return cost.every(({ counterSet, counters }) =>
      Object.entries(counters ?? {}).every(([name, { value }]) => {
        const left = this.#left.get(counterSet)?.get(name);
        return left !== undefined && left.compare(Quantity.parse(value)) >= 0;
      }),
    );
  }

  /** May go below zero; counters that the pool does not have are passed over. */
  take(cost: readonly DeviceCounterConsumption[]): void {
    for (const { counterSet, counters } of cost) {
      const set = this.#left.get(counterSet);
      for (const [name, { value }] of Object.entries(counters ?? {})) {
        const left = set?.get(name);
        if (left !== undefined) set?.set(name, left.sub(Quantity.parse(value)));
      }
    }
  }
}

/** Equal for devices that cost the same. */
export function costKey(cost: readonly DeviceCounterConsumption[]): string {
  return cost
    .flatMap(({ counterSet, counters }) =>
      Object.entries(counters ?? {}).map(
        ([name, { value }]) => `${counterSet}/${name}=${Quantity.parse(value)}`,
      ),
    )
    .sort()
    .join();
}
