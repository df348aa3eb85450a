import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const module = fileURLToPath(new URL("./heap.ts", import.meta.url));

/** Returns the mebibytes of V8's young generation after a burst of work, part of which lives for a while. */
function youngAfterBurst(limited: boolean): number {
  const script = `
    import { getHeapSpaceStatistics } from "node:v8";
    import { keepYoungHeapSmall } from ${JSON.stringify(module)};
    if (${limited}) keepYoungHeapSmall();
    let kept = [];
    for (let i = 0; i < 3_000_000; i++) {
      kept.push({ i, text: "pod" + i });
      if (kept.length > 200_000) kept = [];
    }
    const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    process.stdout.write(String(space_size / 2 ** 20));
  `;
  const args = ["--conditions=dray-source", "--input-type=module", "--eval", script];
  return Number(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

test("the young heap of the agents does not grow with a burst of work", () => {
  const [usual, limited] = [youngAfterBurst(false), youngAfterBurst(true)];
  assert.ok(limited <= 16, `${limited} MiB`);
  assert.ok(usual >= 2 * limited, `${usual} MiB without the limit, ${limited} with it`);
});

test("an idle process collects the garbage of a burst, and keeps used memory", () => {
  const script = `
    import { getHeapStatistics } from "node:v8";
    import { setTimeout as sleep } from "node:timers/promises";
    import { collectWhenIdle } from ${JSON.stringify(module)};
    collectWhenIdle(200);
    const used = () => getHeapStatistics().used_heap_size / 2 ** 20;
    const make = () => Array.from({ length: 400_000 }, (_, i) => ({ i, text: "pod" + i }));
    const kept = make();
    let watches = make();
    const full = used();
    watches = undefined;
    const end = Date.now() + 60_000;
    while (used() > full * 0.75 && Date.now() < end) await sleep(50);
    console.log(JSON.stringify([full, used(), kept.length]));
  `;
  const args = ["--conditions=dray-source", "--input-type=module", "--eval", script];
  const [full, rest, kept] = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
  assert.ok(full > 40, `${full} MiB`);
  assert.ok(rest < full * 0.75, `${full} MiB, and ${rest} when idle`);
  assert.equal(kept, 400_000);
});
