import assert from "node:assert/strict";
import { test } from "node:test";
import { rows } from "../../../../bench/allocator/table.ts";
import { comparable } from "./compare.ts";
import { allocatorOf, answerOf } from "./engine.ts";
import { referenceAllocate } from "./reference.ts";

for (const { name, small } of rows) {
  test(`the benchmark ${name} gets the result of a plain search`, () => {
    const question = { ...small, node: small.nodes[0]! };
    const result = allocatorOf(question).allocate(question.node, question.claims);
    assert.deepEqual(comparable(answerOf(result)), comparable(referenceAllocate(question)));
  });
}
