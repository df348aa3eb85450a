import assert from "node:assert/strict";
import { test } from "node:test";
import { Quantity } from "@dray/api";
import type { Observations } from "./signals.ts";
import {
  amountOf,
  defaultHardThresholds,
  metThresholds,
  parseThresholds,
  ThresholdError,
  type ThresholdTexts,
} from "./thresholds.ts";

const texts = (parts: Partial<Record<keyof ThresholdTexts, Record<string, string>>>): ThresholdTexts => {
  const of = (part: keyof ThresholdTexts): ReadonlyMap<string, string> =>
    new Map(Object.entries(parts[part] ?? {}));
  return {
    hard: of("hard"),
    soft: of("soft"),
    softGracePeriod: of("softGracePeriod"),
    minimumReclaim: of("minimumReclaim"),
  };
};

test("thresholds are amounts or percentages; 0% and 100% disable one", () => {
  const read = parseThresholds(
    texts({
      hard: { "memory.available": "100Mi", "nodefs.available": "10%", "pid.available": "0%" },
      soft: { "nodefs.available": "15%", "imagefs.available": "100%" },
      softGracePeriod: { "nodefs.available": "1m30s" },
      minimumReclaim: { "nodefs.available": "500Mi", "memory.available": "0" },
    }),
  );
  assert.deepEqual(
    read.map(({ signal, gracePeriod }) => [signal, gracePeriod]),
    [
      ["memory.available", 0],
      ["nodefs.available", 0],
      ["nodefs.available", 90_000],
    ],
  );
  const capacity = Quantity.parse("10Gi");
  assert.deepEqual(
    read.map(({ value }) => amountOf(value, capacity).toString()),
    // Single precision, as upstream computes it.
    ["100Mi", "1073741840", "1610612800"],
  );
  assert.deepEqual(
    read.map(({ minReclaim }) => minReclaim && amountOf(minReclaim, capacity).toString()),
    ["0", "500Mi", "500Mi"],
  );
  assert.equal(parseThresholds(texts({ hard: Object.fromEntries(defaultHardThresholds) })).length, 5);
});

test("an invalid threshold is an error that names the accepted form", () => {
  const cases: [parts: Parameters<typeof texts>[0], part: keyof ThresholdTexts, message: RegExp][] = [
    [
      { hard: { "memory.free": "1Gi" } },
      "hard",
      /^unknown signal memory\.free: must be one of memory\.available, /,
    ],
    [
      { hard: { "memory.available": "much" } },
      "hard",
      /^memory\.available<much: must be an amount above 0, such as/,
    ],
    [{ hard: { "memory.available": "0" } }, "hard", /must be an amount above 0/],
    [{ hard: { "memory.available": "-1Gi" } }, "hard", /must be an amount above 0/],
    [{ hard: { "nodefs.available": "101%" } }, "hard", /percentage from 0% to 100%/],
    [{ hard: { "nodefs.available": "-1%" } }, "hard", /percentage from 0% to 100%/],
    [{ hard: { toString: "1" } }, "hard", /^unknown signal toString/],
    [
      { soft: { "memory.available": "1Gi" } },
      "soft",
      /^a grace period of memory\.available is needed, as in --evic/,
    ],
    [
      { softGracePeriod: { "memory.available": "soon" } },
      "softGracePeriod",
      /=soon: must be a duration of 0s or/,
    ],
    [{ softGracePeriod: { "memory.available": "-1s" } }, "softGracePeriod", /=-1s: must be a duration/],
    [{ minimumReclaim: { "memory.available": "-1" } }, "minimumReclaim", /^memory\.available=-1: must be/],
  ];
  for (const [parts, part, message] of cases)
    assert.throws(
      () => parseThresholds(texts(parts)),
      (error) => {
        assert.ok(error instanceof ThresholdError);
        assert.equal(error.part, part);
        assert.match(error.message, message);
        return true;
      },
    );
});

test("a threshold is met when less is available; it is resolved with its minimum reclaim on top", () => {
  const [threshold] = parseThresholds(
    texts({ hard: { "memory.available": "1Gi" }, minimumReclaim: { "memory.available": "10%" } }),
  );
  assert.ok(threshold);
  const cases: [available: string, met: boolean, unresolved: boolean][] = [
    ["1023Mi", true, true],
    ["1Gi", false, true],
    ["2047Mi", false, true],
    ["3Gi", false, false],
  ];
  for (const [available, met, unresolved] of cases) {
    const observations: Observations = new Map([
      ["memory.available", { available: Quantity.parse(available), capacity: Quantity.parse("10Gi") }],
    ]);
    const isMet: boolean = metThresholds([threshold], observations, false).length === 1;
    const isLeft: boolean = metThresholds([threshold], observations, true).length === 1;
    assert.deepEqual([isMet, isLeft], [met, unresolved], available);
  }
  assert.deepEqual(metThresholds([threshold], new Map(), true), [], "what is not observed is not met");
});
