import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { DurationError, durationText, parseDuration } from "../index.ts";

interface Recorded {
  readonly input: string;
  readonly ns?: string;
  readonly text?: string;
  readonly error?: string;
}

test("durations are read and written as Go's package time does it, errors included", () => {
  const lines = readFileSync(new URL("testdata/durations.jsonl", import.meta.url), "utf8")
    .trim()
    .split("\n");
  for (const line of lines) {
    const { input, ns, text, error } = JSON.parse(line) as Recorded;
    if (error === undefined) {
      assert.equal(String(parseDuration(input)), ns, input);
      assert.equal(durationText(BigInt(ns!)), text, input);
    } else assert.throws(() => parseDuration(input), new DurationError(error));
  }
});

test("durations in their shortest form", () => {
  const table: [nanoseconds: bigint, text: string][] = [
    [0n, "0s"],
    [1n, "1ns"],
    [1_100n, "1.1\u00b5s"],
    [2_200_000n, "2.2ms"],
    [3_300_000_000n, "3.3s"],
    [10_000_000_000n, "10s"],
    [80_000_000_000n, "1m20s"],
    [300_000_000_000n, "5m0s"],
    [3_600_000_000_000n, "1h0m0s"],
    [-90_000_000_001n, "-1m30.000000001s"],
    [-(2n ** 63n), "-2562047h47m16.854775808s"],
  ];
  for (const [nanoseconds, text] of table) {
    assert.equal(durationText(nanoseconds), text);
    assert.equal(parseDuration(text), nanoseconds);
  }
});
