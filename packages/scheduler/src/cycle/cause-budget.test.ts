import assert from "node:assert/strict";
import { test } from "node:test";
import { CauseBudget } from "./cause-budget.ts";

test("a cause that is no longer true is not repeated", () => {
  const causes = new CauseBudget({ now: () => 0 });
  let reason = "no device is free";
  const results = [{ cause: () => reason }, {}];
  assert.equal(causes.of(results), "no device is free");
  reason = "all devices are tainted";
  assert.equal(causes.of(results), "all devices are tainted");
  assert.equal(causes.of([{ cause: () => undefined }]), "");
});

test("where causes take long, scheduling comes first", () => {
  let now = 10_000;
  const causes = new CauseBudget({ now: () => now });
  const slow = {
    cause: (): string => {
      now += 100;
      return "slow";
    },
  };
  const hasCause = (): boolean => causes.of([slow]) !== "";
  // Some at once, then one of them takes a twentieth of the time.
  assert.deepEqual([hasCause(), hasCause(), hasCause(), hasCause()], [true, true, true, false]);
  now = 11_299;
  assert.equal(hasCause(), false);
  now += 1;
  assert.deepEqual([hasCause(), hasCause()], [true, false]);
});
