import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { test } from "node:test";

const start = new URL("../../bin/start.js", import.meta.url).href;
const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };

/** Prints the resident mebibytes of 200 in large freed buffers, with small live ones between them. */
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

/** Starts a process that calls `restartProcess` without our variables, and returns its output. */
function begun(command: string[]): string {
  const { MALLOC_MMAP_THRESHOLD_: _threshold, MALLOC_MMAP_MAX_: _max, ...env } = process.env;
  const script = `import(${JSON.stringify(start)}).then(({ restartProcess }) => {
    restartProcess(${JSON.stringify(command)});
    console.log(process.execArgv.join(" "), process.env.MALLOC_MMAP_THRESHOLD_, process.pid);
  });`;
  const { pid, stdout } = spawnSync(process.execPath, ["--eval", script], { encoding: "utf8", env });
  return stdout.replace(`${pid}`, "same process").replace(script, "SCRIPT").trim();
}

/** With the variables of `dray`, or without them as in a shell. */
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

test("a command that serves in the foreground begins anew with the setting, in the same process", () => {
  assert.equal(begun(["up"]), "--eval SCRIPT 16384 same process");
  assert.equal(begun(["apiserver"]), "--eval SCRIPT --max-semi-space-size=8 16384 same process");
  assert.equal(begun(["up", "--detach"]), "--eval SCRIPT undefined same process");
  assert.equal(begun(["status"]), "--eval SCRIPT undefined same process");
});
