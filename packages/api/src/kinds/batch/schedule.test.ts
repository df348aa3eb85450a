import assert from "node:assert/strict";
import test from "node:test";
import { scheduleProblem } from "../../values/schedule.ts";
import { commonIndex, indexProblem, parseIndexes } from "./job/indexes.ts";

test("schedules have five fields with numbers, names, ranges and steps, or a name of their own", () => {
  for (const schedule of [
    "* * * * *",
    "*/5 0-6 1,15 jan-mar mon",
    "@hourly",
    "@every 1h30m",
    "@every 1.s",
    "TZ=UTC 0 0 * * ?",
  ]) {
    assert.equal(scheduleProblem(schedule), undefined, schedule);
  }
});

const wrongSchedules: readonly (readonly [schedule: string, problem: string])[] = [
  ["", "empty spec string"],
  ["* * *", "expected exactly 5 fields, found 3: [* * *]"],
  ["60 * * * *", "end of range (60) above maximum (59): 60"],
  ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
  ["5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"],
  ["*/0 * * * *", "step of range should be a positive number: */0"],
  ["x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
  ["@often", "unrecognized descriptor: @often"],
  ["@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'],
  ["@every 1day", 'failed to parse duration @every 1day: time: unknown unit "day" in duration "1day"'],
];

for (const [schedule, problem] of wrongSchedules) {
  test(`the schedule ${JSON.stringify(schedule)} is refused`, () => {
    assert.equal(scheduleProblem(schedule), problem);
  });
}

test("indexes are intervals in increasing order, below the number of completions", () => {
  assert.deepEqual(parseIndexes("1,3-5,7", 10), {
    intervals: [
      [1, 1],
      [3, 5],
      [7, 7],
    ],
    count: 5,
  });
  assert.equal(indexProblem("1,1", 10), "non-increasing order, previous: 1, current: 1");
  assert.equal(indexProblem("10", 10), 'too large index: "10"');
  assert.equal(indexProblem("a", 10), 'cannot convert string to integer for index: "a"');
  assert.equal(commonIndex(parseIndexes("1-3", 10), parseIndexes("0,3-4", 10)), 3);
  assert.equal(commonIndex(parseIndexes("1-2", 10), parseIndexes("0,3", 10)), undefined);
});
