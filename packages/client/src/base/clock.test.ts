import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@dray/client";

test("a delay of more than 24 days ends in time, or is cancelled", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const day = 24 * 3600 * 1000;
  const ended: string[] = [];
  systemClock.after(60 * day, () => ended.push("60 days"));
  const cancel = systemClock.after(50 * day, () => ended.push("50 days"));
  const pass = (days: number): void => {
    for (let passed = 0; passed < days; passed++) t.mock.timers.tick(day);
  };
  pass(49);
  assert.deepEqual(ended, []);
  cancel();
  pass(10);
  assert.deepEqual(ended, []);
  // Two: the test ends a part of the delay up to a day late.
  pass(2);
  assert.deepEqual(ended, ["60 days"]);
});
