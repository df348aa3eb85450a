import assert from "node:assert/strict";
import { test } from "node:test";
import { ambientState } from "./ambient-state.ts";
import { createSource } from "./source.ts";

const found = (text: string, path = "packages/store/src/a.ts"): string[] =>
  ambientState([createSource(path, text)]).map(({ line, text }) => `${line} ${text.split(": ")[0]}`);

for (const [code, name] of [
  ["export const a = Date.now();", "Date.now"],
  ["export const a = Date.now;", "Date.now"],
  ["export const a = new Date();", "new Date()"],
  ["export const a = performance.now();", "performance.now"],
  ["export const a = Math.random;", "Math.random"],
  ["export const a = crypto.randomUUID();", "crypto.randomUUID"],
  ["export const a = AbortSignal.timeout(1);", "AbortSignal.timeout"],
  ["setTimeout(() => {}, 1);", "setTimeout"],
  ["setInterval(() => {}, 1);", "setInterval"],
  ['import { randomUUID } from "node:crypto";', "randomUUID of node:crypto"],
  ['import { setTimeout as sleep } from "node:timers/promises";', "setTimeout of node:timers/promises"],
  ['import { systemClock } from "@dray/client";', "systemClock of @dray/client"],
] as const)
  test(`${name} is found in \`${code}\``, () => assert.deepEqual(found(code), [`1 ${name}`]));

test("arguments, other dates and other functions of these names are not found", () => {
  const text = [
    "export const at = (clock: { now(): number }, random: () => number) => new Date(clock.now() + random());",
    'export const text = "Date.now()"; // Math.random()',
    "export const stop = (id: number) => clearTimeout(id);",
  ].join("\n");
  assert.deepEqual(found(text), []);
});

test("an imported timer is found once, where it is imported", () => {
  const text = 'import { setTimeout } from "node:timers/promises";\nawait setTimeout(1);';
  assert.deepEqual(found(text), ["1 setTimeout of node:timers/promises"]);
});

test("tests, and files that are in no package, may read the clock", () => {
  for (const path of ["packages/store/src/a.test.ts", "packages/store/src/testing/a.ts", "bench/a.ts"])
    assert.deepEqual(found("export const a = Date.now();", path), [], path);
});
