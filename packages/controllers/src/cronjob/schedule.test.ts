import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSchedule } from "@dray/api";
import { dueTime, nextTime, zonedTimeText } from "./schedule.ts";

const shown = (instant: number | undefined, zone: string): string =>
  instant === undefined ? "never" : zonedTimeText(zone, instant);

const cases: readonly (readonly [schedule: string, zone: string, after: string, next: string])[] = [
  ["0/15 * * * *", "UTC", "2012-07-09T14:45:00Z", "2012-07-09T15:00:00Z"],
  ["20-35/15 * * * *", "UTC", "2012-07-09T23:46:00Z", "2012-07-10T00:20:00Z"],
  ["*/15 1-2 * * *", "UTC", "2012-12-31T23:59:45Z", "2013-01-01T01:00:00Z"],
  ["0 0 29 2 ?", "UTC", "2012-07-09T00:00:00Z", "2016-02-29T00:00:00Z"],
  ["0 0 30 Feb ?", "UTC", "2012-07-09T00:00:00Z", "never"],
  // Either a day of the month or one of the week must match; a star leaves it to the other.
  ["0 0 13 * fri", "UTC", "2026-02-01T00:00:00Z", "2026-02-06T00:00:00Z"],
  ["0 0 */10 * sun", "UTC", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"],
  ["0 0 * * sun", "UTC", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"],
  ["@weekly", "UTC", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"],
  ["@every 90s", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z"],
  // Clocks go from two to three: there is no half past two that day.
  ["30 2 11 Mar ?", "America/New_York", "2012-03-11T05:00:00Z", "2013-03-11T02:30:00-04:00"],
  ["0 * * * ?", "America/New_York", "2012-03-11T06:00:00Z", "2012-03-11T03:00:00-04:00"],
  // Clocks go from two back to one: half past one comes twice.
  ["30 1 * * *", "America/New_York", "2012-11-04T04:00:00Z", "2012-11-04T01:30:00-04:00"],
  ["30 1 * * *", "America/New_York", "2012-11-04T05:30:00Z", "2012-11-04T01:30:00-05:00"],
  ["30 1 * * *", "America/New_York", "2012-11-04T06:30:00Z", "2012-11-05T01:30:00-05:00"],
  // That day has no midnight, only the other times.
  ["0 0 * * *", "America/Sao_Paulo", "2018-11-03T04:00:00Z", "2018-11-05T00:00:00-02:00"],
  ["30 1 4 11 *", "America/Sao_Paulo", "2018-11-03T04:00:00Z", "2018-11-04T01:30:00-02:00"],
  // Clocks go back from midnight: the hour before it comes twice, midnight once.
  ["0 0 18 2 *", "America/Sao_Paulo", "2018-02-17T12:00:00Z", "2018-02-18T00:00:00-03:00"],
  ["0 9 * * *", "Asia/Kolkata", "2026-01-01T00:00:00Z", "2026-01-01T09:00:00+05:30"],
];

for (const [schedule, zone, after, next] of cases) {
  test(`after ${after}, ${schedule} comes in ${zone} at ${next}`, () => {
    assert.equal(shown(nextTime(parseSchedule(schedule), Date.parse(after), zone), zone), next);
  });
}

const due = (schedule: string, earliest: string, now: string): object => {
  const { time, missed } = dueTime(parseSchedule(schedule), Date.parse(earliest), Date.parse(now), "UTC");
  return { time: shown(time, "UTC"), missed };
};

test("of the times that have come the newest is due; more than a hundred are too many", () => {
  const begin = "2026-01-01T00:00:00Z";
  assert.deepEqual(due("0 * * * *", begin, "2026-01-01T00:59:00Z"), { time: "never", missed: "none" });
  assert.deepEqual(due("0 * * * *", begin, "2026-01-01T01:30:00Z"), {
    time: "2026-01-01T01:00:00Z",
    missed: "none",
  });
  assert.deepEqual(due("0 * * * *", begin, "2026-01-01T10:30:00Z"), {
    time: "2026-01-01T10:00:00Z",
    missed: "few",
  });
  assert.deepEqual(due("30 6-16/4 * * 1-5", begin, "2026-01-09T20:00:00Z"), {
    time: "2026-01-09T14:30:00Z",
    missed: "few",
  });
  assert.deepEqual(due("* * * * *", begin, "2026-01-02T00:00:30Z"), {
    time: "2026-01-02T00:00:00Z",
    missed: "many",
  });
  assert.throws(() => due("59 23 31 2 *", begin, "2027-01-01T00:00:00Z"), RangeError);
});
