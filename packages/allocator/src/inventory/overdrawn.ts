import { Quantity } from "@dray/api";
import type { DeviceRecord } from "../devices/device-record.ts";
import type { DeviceState } from "../devices/device-state.ts";
import { consumesCounters, type PoolCounters } from "../rules/shared-counters.ts";

/** A device that is published now, with the counters of its pool. */
export interface Published {
  readonly record: DeviceRecord;
  readonly counters: PoolCounters | undefined;
}

/** What a device lacks for all that have it, in words; undefined: it bears them, or is not published any more. */
export function overdrawn(
  published: Published | undefined,
  state: DeviceState,
  share: boolean,
): string | undefined {
  if (published === undefined) return undefined;
  const { record, counters } = published;
  if (share && state.owned) return `claim ${state.holder} holds it`;
  for (const [key, consumed] of share ? (state.consumed ?? []) : []) {
    const capacities = record.device.capacity ?? {};
    const capacity = Object.hasOwn(capacities, key) ? capacities[key] : undefined;
    if (capacity !== undefined && consumed > Quantity.parse(capacity.value).nanoValue()) {
      return `its capacity ${key} is used up`;
    }
  }
  if (counters === undefined || !consumesCounters(record.device)) return undefined;
  const left = counters.available();
  const short = counters.consumption(record).counters.find((counter) => left[counter]! < 0n);
  if (short === undefined) return undefined;
  const { set, counter } = counters.names[short]!;
  return `counter ${counter} of set ${set} is used up`;
}
