import type { MicroTime, Time } from "../objects/object.ts";
import { quotedTime } from "../text/quoted.ts";

/** Milliseconds since the epoch as a `Time` of the API: RFC 3339 in UTC with whole seconds. */
export function timeText(milliseconds: number): Time {
  return `${new Date(milliseconds).toISOString().slice(0, -5)}Z`;
}

/** The same as a `MicroTime`: with microseconds. */
export function microTimeText(milliseconds: number): MicroTime {
  return new Date(milliseconds).toISOString().replace("Z", "000Z");
}

/** A time that cannot be read; the message is Go's. */
export class TimeError extends Error {
  override readonly name = "TimeError";
}

const layouts = {
  Time: "2006-01-02T15:04:05Z07:00",
  MicroTime: "2006-01-02T15:04:05.000000Z07:00",
} as const;

/** A part of a layout, the form of its text, and Go's name of it. */
interface Part {
  readonly layout: string;
  readonly form: RegExp;
  readonly name?: "month" | "day" | "hour" | "minute" | "second";
  readonly min?: number;
  readonly max?: number;
}

const date: readonly Part[] = [
  { layout: "2006", form: /^\d{4}/ },
  { layout: "-", form: /^-/ },
  { layout: "01", form: /^\d{2}/, name: "month", min: 1, max: 12 },
  { layout: "-", form: /^-/ },
  { layout: "02", form: /^\d{2}/, name: "day", min: 1, max: 31 },
  { layout: "T", form: /^T/ },
  { layout: "15", form: /^\d{1,2}/, name: "hour", max: 23 },
  { layout: ":", form: /^:/ },
  { layout: "04", form: /^\d{2}/, name: "minute", max: 59 },
  { layout: ":", form: /^:/ },
];
/** Go accepts a fraction where the layout has no fraction. */
const wholeSeconds: Part = { layout: "05", form: /^\d{2}(?:[.,]\d+)?/, name: "second", max: 59 };
const second: Part = { layout: "05", form: /^\d{2}/, name: "second", max: 59 };
const micros: Part = { layout: ".000000", form: /^[.,]\d{6}/ };
const zone: Part = { layout: "Z07:00", form: /^(?:Z|[+-]\d{2}:\d{2})/ };
const parts = { Time: [...date, wholeSeconds, zone], MicroTime: [...date, second, micros, zone] };

/**
 * Reads an RFC 3339 time as Go's time.Parse does, and gives it in UTC: whole seconds, or microseconds. Null
 * for Go's zero time, which counts as unset. Throws TimeError.
 */
export function readTime(text: string, name: keyof typeof layouts): string | null {
  const quoted = quotedTime(text);
  let rest = text;
  const found: string[] = [];
  for (const { layout, form, name: unit, min = 0, max = 99 } of parts[name]) {
    const match = form.exec(rest)?.[0];
    if (match === undefined) {
      const as = `${quoted} as "${layouts[name]}": cannot parse ${quotedTime(rest)} as "${layout}"`;
      throw new TimeError(`parsing time ${as}`);
    }
    const value = Number.parseInt(match, 10);
    if (unit !== undefined && (value < min || value > max)) {
      throw new TimeError(`parsing time ${quoted}: ${unit} out of range`);
    }
    found.push(match);
    rest = rest.slice(match.length);
  }
  if (rest !== "") throw new TimeError(`parsing time ${quoted}: extra text: ${quotedTime(rest)}`);
  const [year, , month, , day, , hour, , minute, , seconds = ""] = found;
  const at = new Date(0);
  at.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (at.getUTCDate() !== Number(day)) throw new TimeError(`parsing time ${quoted}: day out of range`);
  at.setUTCHours(Number(hour), Number(minute), Number.parseInt(seconds, 10));
  at.setTime(at.getTime() - offset(found.at(-1) ?? "Z", quoted));
  const fraction = name === "MicroTime" ? (found.at(-2) ?? "").slice(1) : "";
  // JavaScript writes years beyond four digits with a sign and six digits, RFC 3339 cannot write them at all.
  if (at.getUTCFullYear() < 0 || at.getUTCFullYear() > 9999) {
    throw new TimeError(`parsing time ${quoted}: year outside of range [0,9999]`);
  }
  const utc = at.toISOString().slice(0, 19);
  const nothing = /^0*$/.test(name === "MicroTime" ? fraction : seconds.slice(3));
  if (utc === "0001-01-01T00:00:00" && nothing) return null;
  return name === "MicroTime" ? `${utc}.${fraction}Z` : `${utc}Z`;
}

/** Milliseconds east of Greenwich. */
function offset(zone: string, quoted: string): number {
  if (zone === "Z") return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4, 6))];
  if (hours > 24) throw new TimeError(`parsing time ${quoted}: time zone offset hour out of range`);
  if (minutes > 60) throw new TimeError(`parsing time ${quoted}: time zone offset minute out of range`);
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
