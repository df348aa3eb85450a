import { humanDuration } from "@dray/api";

/** How long ago a time was; `<unknown>` for none. `now` in milliseconds since the epoch. */
export function ageText(time: string | null | undefined, now: number): string {
  return time ? humanDuration(now - Date.parse(time)) : "<unknown>";
}
