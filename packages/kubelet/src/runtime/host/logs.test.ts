import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { temporaryFolder } from "@dray/testing/folder";
import { partial } from "@dray/testing/partial";
import type { ReadLogOptions } from "../service.ts";
import type { LoggedContainer } from "./attach.ts";
import { followLog } from "./follow-log.ts";
import { LogReader, LogTimes } from "./logs.ts";

test("a reader that is behind reads what was moved away, then goes on in the log", async (t) => {
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
  const read = (): string[] => [...reader.read(false)].flat().map(({ at, text }) => `${at} ${text}`);
  assert.deepEqual(read(), ["1000 1\n", "1000 2\n"]);
  // A partial line, unread lines, and two rotations before the next read.
  now = 2000;
  appendFileSync(path, "3\n4\n");
  await times.rotate(`${path}.1`);
  now = 3000;
  appendFileSync(path, "5\n6\n");
  await times.rotate(`${path}.2`);
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
    [...old.read(true)].flat().map(({ at }) => at),
    [3000, 3000],
  );
  old.close();
});

test("a line without an end comes in pieces, a log of many lines in blocks", (t) => {
  const path = join(temporaryFolder(t), "log");
  const text = `${"x".repeat(5 << 20)}\n${"y\n".repeat(200_000)}end`;
  writeFileSync(path, text);
  const reader = new LogReader(path, () => 1);
  t.after(() => reader.close());
  const blocks = [...reader.read(true)];
  const lines = blocks.flat().map((line) => line.text.toString("utf8"));
  assert.equal(lines.join(""), text);
  assert.ok(lines.every((line) => line.length <= (1 << 20) + (64 << 10)));
  assert.ok(blocks.every((block) => block.length <= 64 << 10));
  assert.ok(blocks.length < 30);
});

test("parts of a line that has not ended take the memory of what they have", (t) => {
  const path = join(temporaryFolder(t), "log");
  writeFileSync(path, "");
  const reader = new LogReader(path, () => 1);
  t.after(() => reader.close());
  const before = process.memoryUsage().arrayBuffers;
  for (let n = 0; n < 2000; n++) {
    appendFileSync(path, ".");
    assert.deepEqual([...reader.read(false)], []);
  }
  assert.ok(process.memoryUsage().arrayBuffers - before < 32 << 20);
  assert.equal(String([...reader.read(true)].flat()[0]?.text), ".".repeat(2000));
});

test("a log that is rotated while it is read, or its end is looked for, is read whole", async (t) => {
  const path = join(temporaryFolder(t), "log");
  const all = Array.from({ length: 80_000 }, (_, n) => `line ${n}\n`);
  writeFileSync(path, all.join(""));
  const times = new LogTimes(path, systemClock);
  t.after(() => times.close());
  const container = partial<LoggedContainer>({ onRotation: (listener) => times.onRotation(listener) });
  const read = async (options: ReadLogOptions, rotate: (block: number) => Promise<void>): Promise<string> => {
    let text = "";
    let block = 0;
    for await (const lines of followLog(path, container, systemClock, options)) {
      text += lines.map((line) => line.text.toString("utf8")).join("");
      await rotate(++block);
    }
    return text;
  };
  assert.equal(
    await read({}, async (block) => {
      if (block === 2) await times.rotate(`${path}.1`);
    }),
    all.join(""),
  );
  writeFileSync(path, all.join(""));
  const end = read({ tail: 70_000 }, async () => {});
  const rotated = times.rotate(`${path}.2`);
  assert.equal(await end, all.slice(-70_000).join(""));
  await rotated;
});
