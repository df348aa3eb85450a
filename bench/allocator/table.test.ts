import assert from "node:assert/strict";
import { test } from "node:test";
import { comparable } from "../../packages/allocator/src/testing/compare.ts";
import { allocatorOf, answerOf } from "../../packages/allocator/src/testing/engine.ts";
import { referenceAllocate } from "../../packages/allocator/src/testing/reference.ts";
import { rows } from "./table.ts";

for (const { name, small } of rows) {
  test(`the benchmark ${name} gets the result of a plain search`, () => {
    const question = { ...small, node: small.nodes[0]! };
    const result = allocatorOf(question).allocate(question.node, question.claims);
    assert.deepEqual(comparable(answerOf(result)), comparable(referenceAllocate(question)));
  });
}
