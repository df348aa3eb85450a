import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { comparable } from "./compare.ts";
import { type Answer, type Question, referenceAllocate } from "./reference.ts";

/** Questions with the answers of Kubernetes' own library, 0.37.2. `slow` is left out: the reference prunes nothing. */
const recorded = join(import.meta.dirname, "..", "..", "..", "conformance", "alloc");

for (const file of readdirSync(recorded).filter((name) => name !== "slow.jsonl.gz")) {
  test(`the reference agrees with the recorded answers in ${file}`, () => {
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
