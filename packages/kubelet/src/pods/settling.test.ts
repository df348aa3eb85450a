import assert from "node:assert/strict";
import { test } from "node:test";
import { partial } from "@dray/testing/partial";
import type { Container } from "../runtime/service.ts";
import { settlesIn } from "./settling.ts";

const left = (...containers: readonly Partial<Container>[]): number =>
  settlesIn(
    { containers: new Map(containers.map((one, index) => [`c${index}`, [partial<Container>(one)]])) },
    10_000,
  );

test("a status waits for the youngest container that runs, and for nothing else", () => {
  assert.equal(left(), 0);
  assert.equal(left({ state: "running", startedAt: 9_990 }), 90);
  assert.equal(left({ state: "running", startedAt: 9_990 }, { state: "running", startedAt: 9_930 }), 90);
  assert.equal(left({ state: "running", startedAt: 9_900 }, { state: "created", startedAt: undefined }), 0);
  assert.equal(left({ state: "exited", startedAt: 9_990 }), 0);
  // The clock was set back.
  assert.equal(left({ state: "running", startedAt: 20_000 }), 0);
});
