import assert from "node:assert/strict";
import { test } from "node:test";
import { seedOr } from "@dray/testing/random";
import { checkCase } from "./check.ts";
import { judge } from "./second-judge.ts";

const cases = 500;
const seed = seedOr(20261128);

test(`the answers of explain about ${cases} random clusters hold when they are acted on (DRAY_SEED=${seed})`, async () => {
  const causes = new Set<string>();
  for (let i = 0; i < cases; i++) {
    const { violations, troubles, ...result } = await checkCase(seed + i);
    assert.deepEqual(violations, [], `npm run truth -- --only ${seed + i} (${troubles.join(", ")})`);
    for (const cause of result.causes) causes.add(cause);
  }
  // The cases have something to find.
  const waits = ["devices", "nodes", "pod-group", "volume", "prepare", "containers", "quota"];
  for (const cause of [...waits, "failure", "finalizers", "unprepare-failing"])
    assert.ok(causes.has(cause), cause);
});

test("the real scheduler, too, places pods after what explain suggests", async () => {
  let judged = 0;
  for (let i = 0; i < 120; i++) {
    const violations = await judge(seed + i);
    if (violations !== undefined) judged++;
    assert.deepEqual(violations ?? [], [], `npm run truth -- --live --only ${seed + i}`);
  }
  assert.ok(judged > 5, `${judged} cases`);
});
