import { parseSchedule, type Schedule, ScheduleError } from "@dray/api";
import type { CronJob } from "@dray/api/batch/v1";
import type { EventRecorder } from "@dray/client";
import { dueTime, isTimeZone, nextTime } from "./schedule.ts";

/** Milliseconds by which clocks may differ: so long after its time a Job begins. */
const clockDifference = 100;

/** A schedule on the clocks of a zone. */
export interface Timetable {
  readonly schedule: Schedule;
  readonly zone: string;
}

/** Undefined, with an event, for a schedule that cannot be read: nothing is done until it is changed. */
export function timetableOf(cronJob: CronJob, recorder: EventRecorder): Timetable | undefined {
  const { schedule: text, timeZone } = cronJob.spec;
  if (text.includes("TZ")) {
    const message = `CRON_TZ or TZ used in schedule ${JSON.stringify(text)} is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details`;
    recorder.event(cronJob, "Warning", "UnsupportedSchedule", message);
  }
  try {
    const schedule = parseSchedule(text);
    const zone = schedule.zone ?? timeZone ?? localZone();
    if (!isTimeZone(zone))
      throw new ScheduleError(`provided bad location ${zone}: unknown time zone ${zone}`);
    return { schedule, zone };
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const message = `unparseable schedule: ${JSON.stringify(text)} : ${error.message}`;
    recorder.event(cronJob, "Warning", "UnparseableSchedule", message);
    return undefined;
  }
}

/** Without a time zone a schedule is read on the clock of the machine that the controllers run on. */
function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function startOf({ metadata, status }: CronJob): number {
  return Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp);
}

/** The time that has come since the last one, no further back than the starting deadline. */
export function dueOf(
  cronJob: CronJob,
  { schedule, zone }: Timetable,
  now: number,
  recorder: EventRecorder,
): { readonly time?: number } | undefined {
  const { startingDeadlineSeconds: deadline, schedule: text } = cronJob.spec;
  const oldest = deadline === undefined ? 0 : now - Number(deadline) * 1000;
  try {
    const { time, missed } = dueTime(schedule, Math.max(startOf(cronJob), oldest), now, zone);
    if (missed === "many" && time !== undefined) {
      const message =
        "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
      recorder.event(cronJob, "Warning", "TooManyMissedTimes", message);
    }
    return time === undefined ? {} : { time };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const message = `invalid schedule: ${text} : ${error.message}`;
    recorder.event(cronJob, "Warning", "InvalidSchedule", message);
    return undefined;
  }
}

/**
 * Milliseconds until the schedule is due again. Upstream: pkg/controller/cronjob/utils.go,
 * nextScheduleTimeDuration.
 */
export function untilNext(cronJob: CronJob, { schedule, zone }: Timetable, now: number): number | undefined {
  let from = now;
  try {
    const { time, missed } = dueTime(schedule, startOf(cronJob), now, zone);
    if (time !== undefined) from = time;
    else if (missed === "none") from = startOf(cronJob);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  const next = nextTime(schedule, from, zone);
  return next === undefined ? undefined : Math.max(0, next + clockDifference - now);
}
