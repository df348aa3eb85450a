import assert from "node:assert/strict";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { Exchange, withoutExchange } from "../testing/exchange.ts";
import { treeUsage } from "./disk-usage.ts";

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
