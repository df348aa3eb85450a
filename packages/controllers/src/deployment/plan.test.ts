import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReplicaSet } from "@dray/api/apps/v1";
import { partial } from "@dray/testing/partial";
import { nextRevision, revisionAnnotation } from "./plan.ts";

test("the next revision counts on from any 64-bit number, and from nothing else", () => {
  const next = (...texts: string[]): string =>
    `${nextRevision(texts.map((text) => partial<ReplicaSet>({ metadata: { annotations: { [revisionAnnotation]: text } } })))}`;
  assert.equal(next(), "1");
  assert.equal(next("2", "10"), "11");
  assert.equal(next("3546343826724305832", "7"), "3546343826724305833");
  assert.equal(next("1e3", "99999999999999999999", "", "-4"), "1");
});
