import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { BodyBudget } from "./body-budget.ts";

const mebibyte = 2 ** 20;
const ignore = (): void => {};

test("admits bodies up to the limit, by their actual size once it is known", () => {
  const budget = new BodyBudget(fakeClock(), 4 * mebibyte);
  const take = (bytes: number) => budget.take({ bytes, abort: ignore });
  const first = take(2 * mebibyte)!;
  const second = take(2 * mebibyte)!;
  assert.equal(take(1), undefined);
  second.received(mebibyte);
  const third = take(mebibyte)!;
  assert.equal(take(1), undefined);
  first.release();
  first.release();
  assert.equal(budget.used, 2 * mebibyte);
  for (const room of [second, third]) room.release();
  assert.equal(budget.used, 0);
  // A body without a length counts as the largest one.
  assert.ok(take(9 * mebibyte));
  assert.equal(take(1), undefined);
});

test("disconnects slow senders when another body finds no room", () => {
  const clock = fakeClock();
  const budget = new BodyBudget(clock, 4 * mebibyte);
  const late: string[] = [];
  const take = (name: string) => budget.take({ bytes: 2 * mebibyte, abort: () => late.push(name) });
  take("slow");
  take("fast")!.received(2 * mebibyte);
  // 1 s, and 2 MiB at 512 KiB/s.
  clock.advance(4_999);
  assert.equal(take("next"), undefined);
  assert.deepEqual(late, []);
  clock.advance(1);
  assert.deepEqual(late, []);
  assert.equal(take("next"), undefined);
  assert.deepEqual(late, ["slow"]);
});
