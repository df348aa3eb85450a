import assert from "node:assert/strict";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Clock, systemClock } from "@dray/client";
import { temporaryFolder } from "@dray/testing/folder";
import { Exchange, withoutExchange } from "../testing/exchange.ts";
import { DiskUsages, treeUsage } from "./disk-usage.ts";

test("counts each file once, and nothing behind links", async (context) => {
  const folder = temporaryFolder(context);
  mkdirSync(join(folder, "a/b"), { recursive: true });
  const { bytes } = await treeUsage(folder);
  writeFileSync(join(folder, "a/b/file"), Buffer.alloc(1 << 20));
  linkSync(join(folder, "a/b/file"), join(folder, "a/again"));
  symlinkSync("/usr", join(folder, "link"));
  const usage = await treeUsage(folder);
  assert.equal(usage.inodes, 5n);
  assert.ok(usage.bytes >= bytes + (1n << 20n) && usage.bytes < bytes + (2n << 20n), String(usage.bytes));
  assert.deepEqual(await treeUsage(join(folder, "missing")), { bytes: 0n, inodes: 0n });
});

test("counts nothing outside while folders are exchanged for links", {
  skip: withoutExchange ?? false,
}, async (context) => {
  const [volume, outside] = [temporaryFolder(context), temporaryFolder(context)];
  for (let file = 0; file < 100; file++) writeFileSync(join(outside, `${file}`), "");
  mkdirSync(join(volume, "inside"));
  symlinkSync(outside, join(volume, "evil"));
  const exchange = new Exchange(join(volume, "inside"), join(volume, "evil"));
  try {
    for (let tries = 0; tries < 2000; tries++) assert.ok((await treeUsage(volume)).inodes <= 3n);
  } finally {
    assert.ok((await exchange.stop()) > 0);
  }
});

test("a measurement that takes long counts for ten times as long", async (context) => {
  const folder = temporaryFolder(context);
  let now = 0;
  // Each look at the clock finds it 100 ms later, so that a measurement takes as long.
  const clock: Clock = { now: () => (now += 100), after: systemClock.after };
  const usages = new DiskUsages(clock);
  const [first, same] = await Promise.all([usages.of(folder), usages.of(folder)]);
  assert.equal(first, same);
  assert.equal(first?.inodes, 1n);
  writeFileSync(join(folder, "a"), "");
  assert.equal((await usages.of(folder))?.inodes, 1n);
  now += 1000;
  assert.equal((await usages.of(folder))?.inodes, 2n);
  writeFileSync(join(folder, "b"), "");
  assert.equal((await usages.of(folder))?.inodes, 2n);
});

test("a caller waits a second for a size, and has the last one then", async (context) => {
  const folder = temporaryFolder(context);
  let now = 0;
  let isSlow = true;
  const clock: Clock = {
    now: () => (now += 1000),
    after: (milliseconds, run) => {
      assert.equal(milliseconds, 1000);
      if (isSlow) queueMicrotask(run);
      return () => {};
    },
  };
  const usages = new DiskUsages(clock);
  assert.equal(await usages.of(folder), undefined);
  isSlow = false;
  assert.equal((await usages.of(folder))?.inodes, 1n);
  writeFileSync(join(folder, "a"), "");
  now += 100_000;
  isSlow = true;
  assert.equal((await usages.of(folder))?.inodes, 1n);
  isSlow = false;
  assert.equal((await usages.of(folder))?.inodes, 2n);
});

test("a small folder is measured each time", async (context) => {
  const folder = temporaryFolder(context);
  const usages = new DiskUsages({ now: () => 0, after: systemClock.after });
  assert.equal((await usages.of(folder))?.inodes, 1n);
  writeFileSync(join(folder, "a"), "");
  assert.equal((await usages.of(folder))?.inodes, 2n);
});
