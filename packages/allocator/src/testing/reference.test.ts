import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { comparable } from "./compare.ts";
import { type Answer, type Question, referenceAllocate } from "./reference.ts";

/**
 * Inputs with the results of dynamic-resource-allocation 0.37.2. Without `slow`: the reference does not
 * prune.
 */
const recorded = join(import.meta.dirname, "..", "..", "..", "..", "conformance", "alloc");

for (const file of readdirSync(recorded).filter((name) => name !== "slow.jsonl.gz")) {
  test(`the reference agrees with the recorded results in ${file}`, () => {
    for (const line of gunzipSync(readFileSync(join(recorded, file)))
      .toString()
      .trim()
      .split("\n")) {
      const question = JSON.parse(line) as Question & { readonly name: string; readonly expect: Answer };
      assert.deepEqual(comparable(referenceAllocate(question)), comparable(question.expect), question.name);
      assert.deepEqual(question, JSON.parse(line), `${question.name}: the question has changed`);
    }
  });
}
