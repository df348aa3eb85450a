import assert from "node:assert/strict";
import { test } from "node:test";
import { seedOr } from "@dray/testing/random";
import { checkHeadroom } from "./headroom.ts";

const cases = 500;
const seed = seedOr(20261129);

test(`the headroom of top on ${cases} random fleets is the most that can be allocated (DRAY_SEED=${seed})`, () => {
  let [compared, lowerBounds] = [0, 0];
  for (let i = 0; i < cases; i++) {
    const { violations, ...result } = checkHeadroom(seed + i);
    assert.deepEqual(violations, [], `npm run truth -- --headroom --only ${seed + i}`);
    compared += result.compared;
    lowerBounds += result.lowerBounds;
  }
  assert.ok(compared > 5 * cases, "the fleets have something to count");
  assert.ok(lowerBounds < compared / 10, `${lowerBounds} of ${compared} answers say "at least"`);
});
