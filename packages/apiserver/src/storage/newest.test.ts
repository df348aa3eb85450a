import assert from "node:assert/strict";
import { test } from "node:test";
import { NewestRevision } from "./newest.ts";

test("callers during a pending read share the next one", async () => {
  const questions: PromiseWithResolvers<number>[] = [];
  const newest = new NewestRevision(() => {
    const question = Promise.withResolvers<number>();
    questions.push(question);
    return question.promise;
  });
  const first = newest.revision();
  const late = [newest.revision(), newest.revision(), newest.revision()];
  assert.equal(questions.length, 1);
  questions[0]?.reject(new Error("connection reset"));
  await assert.rejects(first, /connection reset/);
  await new Promise(setImmediate);
  assert.equal(questions.length, 2);
  const later = newest.revision();
  questions[1]?.resolve(7);
  assert.deepEqual(await Promise.all(late), [7, 7, 7]);
  await new Promise(setImmediate);
  questions[2]?.resolve(8);
  assert.equal(await later, 8);
  const alone = newest.revision();
  assert.equal(questions.length, 4, "nothing is under way: the question is asked at once");
  questions[3]?.resolve(9);
  assert.equal(await alone, 9);
});
