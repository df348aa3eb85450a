import assert from "node:assert/strict";
import { test } from "node:test";
import { Expiry } from "./clock.ts";

test("a clock that is set back or forward neither stops expiry nor makes it spin", () => {
  let now = 1_800_000_000_000;
  const timers: { milliseconds: number; run: () => void }[] = [];
  const due = now + 60_000;
  let looks = 0;
  const expiry = new Expiry(
    {
      now: () => now,
      after(milliseconds, run) {
        timers.push({ milliseconds, run });
        return () => {};
      },
    },
    (time) => {
      looks++;
      return time >= due ? undefined : due;
    },
  );
  expiry.note(due);
  assert.equal(timers.length, 1);
  // Ten years back, while the timer runs.
  now -= 10 * 365 * 86_400_000;
  timers.shift()?.run();
  assert.equal(looks, 1);
  const next = timers.shift();
  assert.ok(next !== undefined && next.milliseconds >= 1_000, "it must look again, and not at once");
  // A timer of Node holds at most 2^31 - 1 ms: a longer one runs at once.
  assert.ok(next.milliseconds <= 2 * 3_600_000, `it must not wait for ${next.milliseconds} ms`);
  // Right again, and past the time.
  now = due + 1;
  next.run();
  assert.equal(looks, 2);
  assert.equal(timers.length, 0, "nothing is due any more");
});
