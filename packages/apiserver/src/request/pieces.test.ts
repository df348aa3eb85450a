import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestPauses } from "./large-work.ts";
import { inPieces, type Step } from "./pieces.ts";

/** Pauses that are due after each step. */
function pauses(log: string[] = []): RequestPauses {
  const pause = async (): Promise<void> => void log.push("pause");
  return Object.assign(pause, { isDue: () => true, begin: () => () => true, isLarge: true });
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

test("the work may catch the error of a step, also after a restart", async () => {
  let failed = 0;
  const work = (step: Step): string => {
    step(() => "a");
    let caught = "";
    try {
      step(() => {
        failed++;
        throw new Error("no");
      });
    } catch (error) {
      caught = (error as Error).message;
    }
    return step(() => `b ${caught}`) + step(() => "c");
  };
  assert.equal(await inPieces(pauses(), work), "b noc");
  assert.equal(failed, 1);
});

test("each piece has as many new steps as fit, however long the repeated work takes", async () => {
  let now = 0;
  const pause = Object.assign(pauses(), {
    begin: () => {
      const began = now;
      return () => now - began >= 10;
    },
  });
  let begun = 0;
  const work = (step: Step): number => {
    begun++;
    now += 100;
    let sum = 0;
    for (let index = 0; index < 1000; index++) {
      sum += step(() => {
        now += 1;
        return 1;
      });
    }
    return sum;
  };
  assert.equal(await inPieces(pause, work), 1000);
  assert.equal(begun, 100);
});

test("steps that take little time share a piece", async () => {
  const log: string[] = [];
  const quick = Object.assign(pauses(log), { begin: () => () => false });
  const sum = (step: Step): number => step(() => 1) + step(() => 2);
  assert.equal(await inPieces(quick, sum), 3);
  assert.deepEqual(log, []);
});
