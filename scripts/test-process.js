// In the process of a test file: what its tests leave behind (one that failed, mostly) must not hold up the
// others, and properties are tried with the seed that DRAY_SEED names (one that fails prints its seed).
import { readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const exitTimeout = 30_000;

if (isMainThread && process.env.NODE_TEST_CONTEXT !== undefined && process.argv[1]?.endsWith(".test.ts")) {
  const { after } = await import("node:test");
  after(() => {
    setTimeout(() => {
      const left = process.getActiveResourcesInfo().join(", ");
      process.stderr.write(`${process.argv[1]}: the tests have ended, but not their process, for: ${left}\n`);
      process.exit(1);
    }, exitTimeout).unref();
  });
  const seed = process.env.DRAY_SEED;
  if (seed !== undefined && readFileSync(process.argv[1], "utf8").includes('from "fast-check"')) {
    const { default: fc } = await import("fast-check");
    fc.configureGlobal({ seed: Number(seed) });
  }
}
