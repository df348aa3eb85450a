import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { temporaryFolder } from "@dray/testing/folder";
import { LogReader, LogTimes } from "./logs.ts";

test("a reader that is behind reads what was moved away, then goes on in the log", (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, "log");
  writeFileSync(path, "1\n2\n3");
  let now = 1000;
  const clock = { ...systemClock, now: () => now };
  const times = new LogTimes(path, clock);
  t.after(() => times.close());
  const reader = new LogReader(path, () => 9999);
  t.after(() => reader.close());
  times.onRotation((to) => reader.rotated(to));
  const read = (): string[] => [...reader.read(false)].map(({ at, text }) => `${at} ${text}`);
  assert.deepEqual(read(), ["1000 1\n", "1000 2\n"]);
  // A partial line, unread lines, and two rotations before the next read.
  now = 2000;
  appendFileSync(path, "3\n4\n");
  times.rotate(`${path}.1`);
  now = 3000;
  appendFileSync(path, "5\n6\n");
  times.rotate(`${path}.2`);
  now = 4000;
  appendFileSync(path, "7\n");
  assert.deepEqual(
    read().map((line) => line.split(" ")[1]),
    ["33\n", "4\n", "5\n", "6\n", "7\n"],
  );
  assert.deepEqual(read(), []);
  assert.equal(readFileSync(`${path}.1`, "utf8"), "1\n2\n33\n4\n");
  const old = new LogReader(`${path}.2`, () => 9999);
  assert.deepEqual(
    [...old.read(true)].map(({ at }) => at),
    [3000, 3000],
  );
  old.close();
});
