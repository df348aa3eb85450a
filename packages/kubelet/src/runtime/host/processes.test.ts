import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { eventually, realTime } from "@dray/testing/eventually";
import { isStopped, signal } from "./processes.ts";

const writers = `
const { Worker } = require("node:worker_threads");
const { openSync, writeSync } = require("node:fs");
const write = 'const { workerData: fd } = require("node:worker_threads");' +
  'for (;;) require("node:fs").writeSync(fd, "x".repeat(100));';
for (let n = 0; n < 3; n++)
  new Worker(write, { eval: true, workerData: openSync(process.argv[1], "a") });
`;

test("a process is stopped when none of its threads writes any more", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "dray-threads-"));
  const log = join(folder, "log");
  const child = spawn(process.execPath, ["-e", writers, log], { stdio: "ignore" });
  t.after(() => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  });
  const size = () => statSync(log).size;
  await eventually("the threads write", () => existsSync(log) && size() > 0);
  const pid = child.pid!;
  assert.ok(!isStopped(pid));
  for (let round = 0; round < 100; round++) {
    signal(pid, "SIGSTOP");
    while (!isStopped(pid)) await turn();
    const before = size();
    await realTime(1, "a thread that was not stopped would write");
    assert.equal(size(), before);
    signal(pid, "SIGCONT");
    await realTime(1, "they write again");
  }
  child.kill("SIGKILL");
  await eventually("it has ended", () => child.signalCode !== null);
  assert.ok(isStopped(pid));
});
