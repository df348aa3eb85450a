import assert from "node:assert/strict";
import { test } from "node:test";
import { klog } from "./klog.ts";

test("the log looks as Kubernetes' components write it", () => {
  const lines: string[] = [];
  const now = new Date(2025, 7, 20, 18, 17, 44, 131).getTime();
  const log = klog({ now: () => now, after: () => () => {} }, (line) => void lines.push(line));
  log.info({}, "PrepareResourceClaims is called: number of claims: 1");
  log.error({ claim: "a/b", count: 2, error: new Error("hot") }, "it failed");
  log.debug({}, "left out");
  const pid = String(process.pid).padStart(7);
  assert.equal(lines.length, 2);
  assert.match(
    lines[0]!,
    new RegExp(
      `^I0820 18:17:44\\.131000 ${pid} klog\\.test\\.ts:\\d+\\] PrepareResourceClaims is called: number of claims: 1\n$`,
    ),
  );
  assert.match(lines[1]!, /^E0820 .*\] "it failed" claim="a\/b" count="2" error="hot"\n$/);
});
