import type { MicroTime, Time } from "./object.ts";

/** Milliseconds since the epoch as a `Time` of the API: RFC 3339 in UTC with whole seconds. */
export function timeText(milliseconds: number): Time {
  return `${new Date(milliseconds).toISOString().slice(0, -5)}Z`;
}

/** The same as a `MicroTime`: with microseconds. */
export function microTimeText(milliseconds: number): MicroTime {
  return new Date(milliseconds).toISOString().replace("Z", "000Z");
}
