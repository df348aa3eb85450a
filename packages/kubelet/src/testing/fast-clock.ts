import { type Clock, systemClock } from "@dray/client";

/** The system's clock, accelerated by a factor. */
export function fastClock(factor: number): Clock {
  const begin = systemClock.now();
  return {
    ...systemClock,
    now: () => begin + (systemClock.now() - begin) * factor,
    after: (milliseconds, callback) => systemClock.after(milliseconds / factor, callback),
  };
}
