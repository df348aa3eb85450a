import type { Strategy } from "../../strategy.ts";

/** Events go after an hour (--event-ttl). */
const eventSeconds = 3600;

export const eventStrategy: Strategy = { ttl: () => eventSeconds, garbageCollection: "unsupported" };
