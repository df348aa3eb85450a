import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type DeviceInput, deviceEnvironment } from "./index.ts";

/** A question about a selector and what Kubernetes' own library, 0.37.2, answered. */
interface Recorded {
  readonly id: string;
  readonly expression: string;
  readonly driver: string;
  readonly features: readonly string[];
  readonly stored: boolean;
  readonly costLimit?: number;
  readonly devices: readonly Omit<DeviceInput, "driver">[];
  readonly expect: Answer;
}

interface Answer {
  readonly compileError?: string;
  readonly type?: string;
  readonly maxCost?: number | string;
  readonly devices?: readonly {
    readonly matches?: boolean | undefined;
    readonly error?: string | undefined;
    readonly cost?: number;
  }[];
}

const read = (name: string): string =>
  readFileSync(new URL(`./testdata/${name}`, import.meta.url), "utf8").trim();
const recorded = read("selectors.jsonl")
  .split("\n")
  .map((line) => JSON.parse(line) as Recorded);
/** By id, why we answer otherwise. */
const differences = JSON.parse(read("differences.json")) as Record<string, string>;

function answer(question: Recorded): Answer {
  const has = (feature: string): boolean => question.features.includes(feature);
  const compiled = deviceEnvironment({
    stored: question.stored,
    features: {
      consumableCapacity: has("ConsumableCapacity"),
      listTypeAttributes: has("ListTypeAttributes"),
    },
  }).compile(question.expression);
  if (!compiled.ok) return { compileError: compiled.error, type: compiled.type };
  const options = question.costLimit === undefined ? {} : { costLimit: question.costLimit };
  const devices = question.devices.map((device, i) => {
    const { cost, ...result } = compiled.evaluate({ driver: question.driver, ...device }, options);
    // Upstream reports no cost where it could not read the device.
    return question.expect.devices?.[i]?.cost === undefined ? result : { ...result, cost };
  });
  const most = compiled.maxCost;
  const maxCost = most === 2n ** 64n - 1n ? "unlimited" : typeof most === "bigint" ? String(most) : most;
  return { maxCost, devices };
}

/** Of a syntax error the place counts, not the parser generator's wording. */
function comparable(expect: Answer): unknown {
  const text = expect.compileError;
  const place = /^compilation failed: ERROR: <input>:(-?\d+:-?\d+): Syntax error/.exec(text ?? "")?.[1];
  return place === undefined ? expect : { syntaxErrorAt: place };
}

for (const question of recorded) {
  const difference = differences[question.id];
  test(`${question.id}: ${question.expression.slice(0, 80)}`, () => {
    const actual = comparable(answer(question));
    const wanted = comparable(question.expect);
    if (difference === undefined) assert.deepEqual(actual, wanted);
    else
      assert.notDeepEqual(actual, wanted, `agrees now, so differences.json must not name it: ${difference}`);
  });
}

test("every listed difference is of a recorded question", () => {
  const ids = new Set(recorded.map(({ id }) => id));
  assert.deepEqual(
    Object.keys(differences).filter((id) => !ids.has(id)),
    [],
  );
});
