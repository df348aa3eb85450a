import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

const start = new URL("../bin/start.js", import.meta.url).href;
const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };

/** Mebibytes that stay resident of 200 in large buffers which are gone, with small ones between them that are not. */
const program = `
  const rss = () => process.memoryUsage.rss() / 2 ** 20;
  const small = [], large = [];
  gc();
  const before = rss();
  for (let i = 0; i < 10_000; i++) {
    large.push(Buffer.allocUnsafeSlow(20_000).fill(1));
    small.push(Buffer.allocUnsafeSlow(200).fill(1));
  }
  large.length = 0;
  gc();
  setTimeout(() => { gc(); console.log(Math.round(rss() - before), small.length); }, 200);
`;

/** As `dray` starts a Node, or as a shell does. */
function kept(asDray: boolean): number {
  const args = ["--expose-gc", "--eval", program];
  const run = `import(${JSON.stringify(start)}).then(({ spawnNode }) =>
    spawnNode(process.execPath, ${JSON.stringify(args)}));`;
  const { MALLOC_MMAP_THRESHOLD_: _threshold, MALLOC_MMAP_MAX_: _max, ...env } = process.env;
  return Number.parseInt(
    execFileSync(process.execPath, asDray ? ["--eval", run] : args, { encoding: "utf8", env }),
    10,
  );
}

test("memory of buffers that are gone goes back to the system", {
  skip: header.glibcVersionRuntime === undefined && "only glibc knows the setting",
}, () => {
  assert.ok(kept(true) < 100, `${kept(true)} MiB`);
  assert.ok(kept(false) > 150, "the setting is not needed any more");
});
