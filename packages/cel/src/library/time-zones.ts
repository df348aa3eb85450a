import { quoted } from "@dray/api";
import { inInt } from "../values/integers.ts";
import { floorDivide } from "../values/time.ts";
import type { Timestamp } from "../values/value.ts";

const millisecond = 1_000_000n;
const minute = 60_000n * millisecond;

/** Making a format takes as long as a thousand uses. */
const maxFormats = 64;

/** Converts timestamps to the local time of zones. */
export class TimeZoneCache {
  readonly #formats = new Map<string, Intl.DateTimeFormat | undefined>();

  /**
   * Returns the local time as if it were UTC, or Go's error text for an invalid zone: `+02:00`,
   * `Europe/Berlin`.
   */
  localTime({ nanoseconds }: Timestamp, zone: string): Date | string {
    const date = new Date(Number(floorDivide(nanoseconds, millisecond)));
    const colon = zone.indexOf(":");
    if (colon < 0) return this.#inNamedZone(date, zone);
    const hours = parseInteger(zone.slice(0, colon));
    if (typeof hours === "string") return hours;
    const minutes = parseInteger(zone.slice(colon + 1));
    if (typeof minutes === "string") return minutes;
    // Go computes in 64 bits, which may overflow.
    const offset = BigInt.asIntN(64, hours * 60n + (zone.startsWith("-") ? -minutes : minutes));
    const shift = BigInt.asIntN(64, offset * minute) / (1000n * millisecond);
    return new Date(date.getTime() + Number(shift) * 1000);
  }

  #inNamedZone(date: Date, zone: string): Date | string {
    if (zone === "" || zone === "UTC" || zone === "Local") return date;
    if (zone.includes("..") || /^[/\\]/.test(zone)) return "time: invalid location name";
    const format = this.#format(zone);
    if (format === undefined) return `unknown time zone ${zone}`;
    const parts = new Map(format.formatToParts(date).map(({ type, value }) => [type, value]));
    const part = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name));
    // The year before the year 1 is 1 BC.
    const year = parts.get("era") === "BC" ? 1 - part("year") : part("year");
    const local = new Date(0);
    local.setUTCFullYear(year, part("month") - 1, part("day"));
    local.setUTCHours(part("hour"), part("minute"), part("second"), date.getUTCMilliseconds());
    return local;
  }

  #format(zone: string): Intl.DateTimeFormat | undefined {
    if (this.#formats.has(zone)) return this.#formats.get(zone);
    if (this.#formats.size >= maxFormats) this.#formats.clear();
    const format = zoneName.test(zone) ? makeFormat(zone) : undefined;
    this.#formats.set(zone, format);
    return format;
  }
}

/** Parses a 64-bit integer; returns the error text of Go's strconv.Atoi for an invalid one. */
function parseInteger(text: string): bigint | string {
  const fail = (why: string): string => `strconv.Atoi: parsing ${quoted(text)}: ${why}`;
  if (!/^[+-]?[0-9]+$/.test(text)) return fail("invalid syntax");
  const value = BigInt(text.replace(/^\+/, ""));
  return inInt(value) ? value : fail("value out of range");
}

/**
 * The letter case of IANA names. Go looks names up as they are written, the platform ignores case. Words
 * start with a capital, except for abbreviations and small words in the middle.
 */
const zoneName =
  /^(?:[A-Z]{2,3}[+-]?[0-9]*(?:[A-Z]{3})?|[A-Z][A-Za-z]*[a-z][A-Za-z]*|W-SU|GB-Eire|NZ-CHAT)(?:\/[A-Z]+[a-z]*[A-Za-z0-9_+-]*)*$/;

function makeFormat(zone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone: zone, hourCycle: "h23", era: "short", year: "numeric", month: "numeric", day: "numeric",
      hour: "numeric", minute: "numeric", second: "numeric",
    }); // biome-ignore format: a table reads better in lines
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
