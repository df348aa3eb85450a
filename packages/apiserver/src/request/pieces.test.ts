import assert from "node:assert/strict";
import { test } from "node:test";
import { inPieces, type Step } from "./pieces.ts";

let time = 0;
const now = (): number => time;

/** Takes longer than one piece. */
function long(): void {
  time += 120;
}

test("work continues where it stopped, with the results of its steps", async () => {
  const log: string[] = [];
  const work = (step: Step): readonly string[] => {
    log.push("begun");
    return ["a", "b", "c"].map((name) =>
      step(() => {
        long();
        log.push(name);
        return name.toUpperCase();
      }),
    );
  };
  const pause = async (): Promise<void> => void log.push("pause");
  assert.deepEqual(await inPieces(pause, now, work), ["A", "B", "C"]);
  assert.deepEqual(log, ["begun", "a", "pause", "begun", "b", "pause", "begun", "c"]);
  log.length = 0;
  assert.deepEqual(await inPieces(undefined, now, work), ["A", "B", "C"]);
  assert.deepEqual(log, ["begun", "a", "b", "c"]);
});

test("a step that fails fails the work", async () => {
  const fail = (): never => {
    throw new Error("no");
  };
  await assert.rejects(
    inPieces(
      async () => {},
      now,
      (step) => step(fail),
    ),
    /^Error: no$/,
  );
});
