import assert from "node:assert/strict";
import { test } from "node:test";
import { CauseCache } from "./cause-cache.ts";

test("a cause is kept as long as the words are the same, for five minutes", () => {
  let [now, asked] = [0, 0];
  const causes = new CauseCache({ now: () => now });
  const entry = {};
  const of = (message: string): string =>
    causes.of(entry, message, [{ cause: () => `cause ${++asked}` }, {}]);
  assert.deepEqual([of("a"), of("a"), of("b"), of("b")], ["cause 1", "cause 1", "cause 2", "cause 2"]);
  now += 5 * 60_000;
  assert.equal(of("b"), "cause 3");
  assert.equal(causes.of({}, "b", [{ cause: () => undefined }]), "");
});

test("where causes take long, scheduling comes first", () => {
  let now = 10_000;
  const causes = new CauseCache({ now: () => now });
  const slow = {
    cause: (): string => {
      now += 100;
      return "slow";
    },
  };
  const hasCause = (): boolean => causes.of({}, "a", [slow]) !== "";
  // Some at once, then one of them takes a twentieth of the time.
  assert.deepEqual([hasCause(), hasCause(), hasCause(), hasCause()], [true, true, true, false]);
  now = 11_299;
  assert.equal(hasCause(), false);
  now += 1;
  assert.deepEqual([hasCause(), hasCause()], [true, false]);
});
