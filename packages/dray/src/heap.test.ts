import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const module = fileURLToPath(new URL("./heap.ts", import.meta.url));

/** Mebibytes of V8's young generation after a burst of work of which a part lives for a while. */
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
