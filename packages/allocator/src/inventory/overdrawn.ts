import { Quantity } from "@dray/api";
import type { DeviceRecord } from "../devices/device-record.ts";
import type { DeviceState } from "../devices/device-state.ts";
import { consumesCounters, type SharedCounters } from "../rules/shared-counters.ts";

/** A device as it is published now, with the counters of its pool. */
export interface PublishedDevice {
  readonly record: DeviceRecord;
  readonly counters: SharedCounters | undefined;
}

/**
 * Returns the capacity or counter of a device that its claims exceed; undefined if none is exceeded, or if it
 * is not published.
 */
export function overdrawnReason(
  published: PublishedDevice | undefined,
  state: DeviceState,
  share: boolean,
): string | undefined {
  if (published === undefined) return undefined;
  const { record, counters } = published;
  if (share && state.isOwned) return `claim ${state.holder} holds it`;
  for (const [key, consumed] of share ? (state.consumed ?? []) : []) {
    const capacities = record.device.capacity ?? {};
    const capacity = Object.hasOwn(capacities, key) ? capacities[key] : undefined;
    if (capacity !== undefined && consumed > Quantity.parse(capacity.value).nanoValue()) {
      return `its capacity ${key} is used up`;
    }
  }
  if (counters === undefined || !consumesCounters(record.device)) return undefined;
  const available = counters.available();
  const short = counters.consumption(record).counters.find((counter) => available[counter]! < 0n);
  if (short === undefined) return undefined;
  const { set, counter } = counters.names[short]!;
  return `counter ${counter} of set ${set} is used up`;
}
