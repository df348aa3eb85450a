import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { fillDisk, smallDisk, withoutMounts } from "../../../store/src/testing/disk.ts";
import { logFile } from "./destination.ts";
import { rotateInPlace } from "./rotate.ts";

const dropped = (count: number, reason: string): string => `(${count} missing: ${reason})\n`;

function folder(t: TestContext): string {
  const path = temporaryFolder(t);
  return path;
}

test("a log rotates at its maximum size and keeps maxOldFiles", (t) => {
  const path = join(folder(t), "a", "x.log");
  const limits = { maxSize: 100, maxOldFiles: 2 };
  const first = logFile(path, dropped, limits);
  for (let line = 0; line < 20; line++) first.write(`line ${line} ${"x".repeat(20)}\n`);
  // Another process that continues the same file.
  const second = logFile(path, dropped, limits);
  for (let line = 20; line < 40; line++) second.write(`line ${line} ${"x".repeat(20)}\n`);
  const lines = [".2", ".1", ""].flatMap((suffix) => {
    assert.ok(statSync(`${path}${suffix}`).size <= limits.maxSize);
    return readFileSync(`${path}${suffix}`, "utf8").trimEnd().split("\n");
  });
  assert.equal(existsSync(`${path}.3`), false);
  assert.deepEqual(
    lines.map((line) => Number(line.split(" ")[1])),
    Array.from({ length: lines.length }, (_, index) => 40 - lines.length + index),
  );
  assert.equal(first.dropped + second.dropped, 0);
});

test("a log whose file was removed goes on with a new one", (t) => {
  const path = join(folder(t), "x.log");
  const log = logFile(path, dropped, { maxSize: 10, maxOldFiles: 2 });
  log.write("before\n");
  rmSync(path);
  log.write("after\n");
  assert.equal(readFileSync(path, "utf8"), "after\n");
  assert.equal(log.dropped, 0);
});

test("on a full disk lines are dropped and counted; with room again the log says how many", {
  skip: withoutMounts,
}, (t) => {
  const disk = smallDisk(t, 1);
  const path = join(disk, "x.log");
  const log = logFile(path, dropped);
  log.write("first\n");
  const free = fillDisk(disk);
  // The last page of the file has room for some of them.
  for (let line = 0; line < 1000; line++) log.write(`line ${line}\n`);
  const missing = log.dropped;
  assert.ok(missing > 0 && missing < 1000, `${missing} dropped`);
  free();
  log.write("last\n");
  assert.equal(log.dropped, missing);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  assert.deepEqual(lines.slice(-2), [`(${missing} missing: ENOSPC: no space left on device, write)`, "last"]);
  // A partly written line has a line of its own.
  for (const line of lines.slice(1, -3)) assert.match(line, /^line \d+$/);
});

test("a file that others append to is emptied when it is over its limit, and what was in it is kept beside it", (t) => {
  const path = join(folder(t), "up.log");
  const limits = { maxSize: 10, maxOldFiles: 2 };
  const descriptor = openSync(path, "a");
  t.after(() => closeSync(descriptor));
  const rounds = ["first round\n", "second round\n", "third round\n"];
  for (const round of rounds) {
    writeSync(descriptor, round);
    rotateInPlace(path, limits);
    rotateInPlace(path, limits);
  }
  writeSync(descriptor, "short\n");
  rotateInPlace(path, limits);
  const texts = ["", ".1", ".2"].map((suffix) => readFileSync(`${path}${suffix}`, "utf8"));
  assert.deepEqual(texts, ["short\n", "third round\n", "second round\n"]);
  assert.equal(existsSync(`${path}.3`), false);
});

test("a file that others append to stays within its limit on a full disk, too", {
  skip: withoutMounts,
}, (t) => {
  const disk = smallDisk(t, 1);
  const path = join(disk, "up.log");
  const descriptor = openSync(path, "a");
  t.after(() => closeSync(descriptor));
  writeSync(descriptor, "x".repeat(100_000));
  fillDisk(disk);
  rotateInPlace(path, { maxSize: 1000, maxOldFiles: 2 });
  assert.equal(statSync(path).size, 0);
  assert.equal(existsSync(`${path}.copy`), false);
});

test("unread or closed standard error drops lines; the process neither ends nor blocks for long", () => {
  const script = `
    import { errorOutput } from ${JSON.stringify(join(import.meta.dirname, "destination.ts"))};
    const log = errorOutput(() => "");
    for (let line = 0; line < 40; line++) log.write("x".repeat(10_000) + "\\n");
    process.stdout.write(String(log.dropped));`;
  // The other end of the pipe is never read, and then closed.
  for (const reader of ["sleep 3", "true"]) {
    const command = `{ "$0" --conditions=dray-source --input-type=module -e "$1" 3>&1 1>&4 2>&3 | ${reader}; } 4>&1`;
    const { stdout, stderr } = spawnSync("bash", ["-c", command, process.execPath, script], {
      encoding: "utf8",
    });
    assert.ok(Number(stdout) > 0, `${reader}: dropped ${stdout}, ${stderr}`);
  }
});
