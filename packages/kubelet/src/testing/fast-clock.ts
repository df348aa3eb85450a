import { type Clock, systemClock } from "@dray/client";

/** A clock that runs so many times as fast as the system's. */
export function fastClock(factor: number): Clock {
  const begin = systemClock.now();
  return {
    ...systemClock,
    now: () => begin + (systemClock.now() - begin) * factor,
    after: (milliseconds, callback) => systemClock.after(milliseconds / factor, callback),
  };
}
