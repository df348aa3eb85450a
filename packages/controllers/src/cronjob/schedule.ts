import type { Schedule } from "@dray/api";

const minute = 60_000;
const hour = 60 * minute;
/** Maximum number of years that are searched: a schedule such as the 31st of February never comes. */
const maxYears = 5;

/** Local time in a time zone. */
interface LocalTime {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Throws a RangeError for a zone that does not exist. */
function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-u-ca-gregory", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
    formats.set(zone, format);
  }
  return format;
}

/** `instant`: milliseconds since the epoch. */
function localTime(zone: string, instant: number): LocalTime {
  const parts = new Map(
    formatOf(zone)
      .formatToParts(instant)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return {
    year: part("year"),
    month: part("month"),
    day: part("day"),
    hour: part("hour"),
    minute: part("minute"),
  };
}

/** Returns how far clocks of the zone are ahead of UTC, in milliseconds. */
function offsetAt(zone: string, instant: number): number {
  const { year, month, day, hour: hours, minute: minutes } = localTime(zone, instant);
  return Date.UTC(year, month - 1, day, hours, minutes) - Math.floor(instant / minute) * minute;
}

/**
 * The first instant after `instant` at which clocks show this midnight, or the first one that follows if none
 * does.
 */
function midnight(
  zone: string,
  instant: number,
  { year, month, day }: Pick<LocalTime, "year" | "month" | "day">,
): number {
  const wanted = Date.UTC(year, month - 1, day);
  const guess = wanted - offsetAt(zone, instant);
  const corrected = wanted - offsetAt(zone, guess);
  const first = offsetAt(zone, guess) === wanted - guess ? guess : Math.max(guess, corrected);
  // A midnight that comes twice may not be later than `instant`: the second one is an hour after it.
  return first > instant ? first : instant + hour;
}

/** `2026-03-01T06:30:00-05:00` */
export function zonedTimeText(zone: string, instant: number): string {
  const offset = offsetAt(zone, instant);
  const text = new Date(instant + offset).toISOString().slice(0, 19);
  if (offset === 0) return `${text}Z`;
  const minutes = Math.abs(offset) / minute;
  const pad = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  return `${text}${offset < 0 ? "-" : "+"}${pad(minutes / 60)}:${pad(minutes % 60)}`;
}

/** Reports whether there is such a time zone. */
export function isTimeZone(zone: string): boolean {
  try {
    formatOf(zone);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/**
 * The first time after `after` at which the schedule is due, on the clocks of the zone; undefined if none
 * comes within five years. An hour that clocks skip has no times, one that they repeat has them twice. All in
 * milliseconds since the epoch.
 *
 * Upstream: github.com/robfig/cron/v3, SpecSchedule.Next and ConstantDelaySchedule.Next.
 */
export function nextTime(schedule: Schedule, after: number, zone: string): number | undefined {
  if ("every" in schedule) return Math.floor(after / 1000) * 1000 + schedule.every;
  let instant = (Math.floor(after / minute) + 1) * minute;
  const lastYear = localTime(zone, instant).year + maxYears;
  for (;;) {
    const now = localTime(zone, instant);
    if (now.year > lastYear) return undefined;
    if (!schedule.month.values.has(now.month)) {
      instant = midnight(zone, instant, { ...now, month: now.month + 1, day: 1 });
    } else if (!isDay(schedule, now)) {
      instant = midnight(zone, instant, { ...now, day: now.day + 1 });
    } else if (!schedule.hour.values.has(now.hour)) {
      instant += hour - now.minute * minute;
    } else if (!schedule.minute.values.has(now.minute)) {
      instant += minute;
    } else return instant;
  }
}

/** Where days of the month and of the week are both given, either of them will do. */
function isDay(schedule: Exclude<Schedule, { every: number }>, { year, month, day }: LocalTime): boolean {
  const ofMonth = schedule.day.values.has(day);
  const ofWeek = schedule.weekday.values.has(new Date(Date.UTC(year, month - 1, day)).getUTCDay());
  return schedule.day.any || schedule.weekday.any ? ofMonth && ofWeek : ofMonth || ofWeek;
}

/** The newest time of a schedule that has come, and how many have come since `earliest`. */
export interface DueTime {
  readonly time?: number;
  /** About how many were missed. */
  readonly missed: "none" | "few" | "many";
}

/** More than these are many: most likely a clock is wrong. */
const few = 100;

/**
 * Throws a RangeError for a schedule that never comes.
 *
 * Upstream: pkg/controller/cronjob/utils.go, mostRecentScheduleTime.
 */
export function dueTime(schedule: Schedule, earliest: number, now: number, zone: string): DueTime {
  const never = "time difference between two schedules is less than 1 second";
  const first = nextTime(schedule, earliest, zone);
  if (first === undefined) throw new RangeError(never);
  if (now < first) return { missed: "none" };
  const second = nextTime(schedule, first, zone);
  if (second === undefined) throw new RangeError(never);
  if (now < second) return { time: first, missed: "none" };
  // As if all were as far apart as the first two; where that is too late, ever further back, then one by one.
  const gap = second - first;
  const count = Math.floor((now - first) / gap) + 1;
  let time = first;
  for (let steps = 2, next: number | undefined; steps < 2 * count; steps *= 2) {
    next = nextTime(schedule, Math.max(first, first + (count - steps) * gap), zone);
    if (next === undefined || next > now) continue;
    for (; next !== undefined && next <= now; next = nextTime(schedule, next, zone)) time = next;
    break;
  }
  return { time, missed: count > few ? "many" : "few" };
}
