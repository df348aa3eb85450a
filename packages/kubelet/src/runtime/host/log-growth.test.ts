import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { GrowthReader, timesName } from "./log-growth.ts";

test("the time of each byte, by records that are read once", (t) => {
  const log = join(temporaryFolder(t), "log");
  const times = timesName(log);
  const reader = new GrowthReader(log);
  t.after(() => reader.close());
  assert.equal(reader.at(0), undefined);
  writeFileSync(times, "1 10\n2 20\n3 3");
  assert.equal(reader.at(0), undefined);
  reader.refresh();
  assert.deepEqual(
    [0, 9, 10, 19, 20].map((offset) => reader.at(offset)),
    [1, 1, 2, 2, undefined],
  );
  // A long log that is followed has many records: those before must not be read again and again.
  writeFileSync(times, "x".repeat(readFileSync(times).length));
  appendFileSync(times, "0\n4 40\n");
  assert.equal(reader.at(20), undefined);
  reader.refresh();
  assert.deepEqual(
    [20, 39, 40].map((offset) => reader.at(offset)),
    [3, 4, undefined],
  );
});

test("the last size of a record of any length", (t) => {
  const log = join(temporaryFolder(t), "log");
  const last = (): number => {
    const reader = new GrowthReader(log);
    try {
      return reader.last();
    } finally {
      reader.close();
    }
  };
  assert.equal(last(), 0);
  writeFileSync(timesName(log), Array.from({ length: 50_000 }, (_, i) => `${i} ${i * 7}\n`).join(""));
  assert.equal(last(), 49_999 * 7);
  appendFileSync(timesName(log), "50000 3");
  assert.equal(last(), 49_999 * 7);
});

test("the time of a byte far behind is found among many records", (t) => {
  const log = join(temporaryFolder(t), "log");
  const count = 200_000;
  writeFileSync(timesName(log), Array.from({ length: count }, (_, i) => `${i} ${(i + 1) * 7}\n`).join(""));
  for (const offset of [0, 6, 7, 700, 700_000, 699_999, count * 7 - 1, count * 7]) {
    const reader = new GrowthReader(log);
    const expected = offset < count * 7 ? Math.floor(offset / 7) : undefined;
    assert.equal(reader.at(offset), expected, String(offset));
    reader.close();
  }
});
