import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestPauses } from "./large-work.ts";
import { inPieces, type Step } from "./pieces.ts";

/** Pauses that are due after each step. */
function pauses(log: string[] = []): RequestPauses {
  const pause = async (): Promise<void> => void log.push("pause");
  return Object.assign(pause, { isDue: () => true, isLarge: true });
}

test("work continues where it stopped, with the results of its steps", async () => {
  const log: string[] = [];
  const work = (step: Step): readonly string[] => {
    log.push("begun");
    return ["a", "b", "c"].map((name) =>
      step(() => {
        log.push(name);
        return name.toUpperCase();
      }),
    );
  };
  assert.deepEqual(await inPieces(pauses(log), work), ["A", "B", "C"]);
  assert.deepEqual(log, ["begun", "a", "pause", "begun", "b", "pause", "begun", "c"]);
  log.length = 0;
  assert.deepEqual(await inPieces(undefined, work), ["A", "B", "C"]);
  assert.deepEqual(log, ["begun", "a", "b", "c"]);
});

test("a step that fails fails the work", async () => {
  const fail = (): never => {
    throw new Error("no");
  };
  await assert.rejects(
    inPieces(pauses(), (step) => step(fail)),
    /^Error: no$/,
  );
});

test("steps that take little time share a piece", async () => {
  const log: string[] = [];
  const quick = Object.assign(pauses(log), { isDue: () => false });
  const sum = (step: Step): number => step(() => 1) + step(() => 2);
  assert.equal(await inPieces(quick, sum), 3);
  assert.deepEqual(log, []);
});
