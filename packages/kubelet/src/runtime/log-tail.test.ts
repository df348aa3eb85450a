import assert from "node:assert/strict";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { Random, seedOr } from "@dray/testing/random";
import { tailStart } from "./log-tail.ts";

async function tails(path: string, text: string, counts: readonly number[]): Promise<string[]> {
  writeFileSync(path, text);
  const file = openSync(path, "r");
  try {
    return await Promise.all(
      counts.map(async (count) => text.slice(await tailStart(file, text.length, count))),
    );
  } finally {
    closeSync(file);
  }
}

test("the last lines of a log, of which the very last may have no end", async (t) => {
  const path = join(temporaryFolder(t), "log");
  assert.deepEqual(await tails(path, "1\n2\n3\n", [0, 1, 2, 3, 4]), [
    "",
    "3\n",
    "2\n3\n",
    "1\n2\n3\n",
    "1\n2\n3\n",
  ]);
  assert.deepEqual(await tails(path, "1\n2", [0, 1, 2]), ["", "2", "1\n2"]);
  assert.deepEqual(await tails(path, "\n\n\n", [1, 2]), ["\n", "\n\n"]);
  assert.deepEqual(await tails(path, "", [0, 1]), ["", ""]);
});

const seed = seedOr(20261129);

test(`the last lines of long logs (seed ${seed})`, async (t) => {
  const path = join(temporaryFolder(t), "log");
  const random = new Random(seed);
  for (let round = 0; round < 30; round++) {
    const lines = random.list(
      1,
      400,
      () => `${"x".repeat(random.int(0, random.chance(0.1) ? 150_000 : 300))}\n`,
    );
    const counts = random.list(1, 5, () => random.int(0, lines.length + 1));
    const text = lines.join("");
    assert.deepEqual(
      await tails(path, text, counts),
      counts.map((count) => lines.slice(Math.max(0, lines.length - count)).join("")),
    );
  }
});
