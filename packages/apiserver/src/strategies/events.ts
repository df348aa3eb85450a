import type { Strategy } from "../kinds/strategy.ts";

/** Events go after an hour (--event-ttl). */
export const eventSeconds = 3600;

export const events: Strategy = { ttl: () => eventSeconds, garbageCollection: "unsupported" };
