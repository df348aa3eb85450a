import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyResponse } from "../http/response.ts";
import { LargeWork } from "./large-work.ts";

const list = (count: number, made: () => void) =>
  bodyResponse(
    200,
    {},
    () => {
      made();
      return "";
    },
    { items: Array.from({ length: count }, () => ({})) },
  );
const wanted = (): AbortSignal => new AbortController().signal;

test("large responses are encoded one after the other, and other work proceeds between them", async () => {
  const answers = new LargeWork();
  let turn = 0;
  let counting = true;
  const count = (): void => {
    turn++;
    if (counting) setImmediate(count);
  };
  count();
  const made: number[] = [];
  await Promise.all(
    [1, 2, 3].map(() =>
      answers.answer(
        list(1000, () => made.push(turn)),
        wanted,
      ),
    ),
  );
  counting = false;
  assert.equal(made.length, 3);
  assert.ok(made[1]! - made[0]! > 5 && made[2]! - made[1]! > 5, `made in the turns ${made.join(", ")}`);
});

test("small responses, and those of disconnected clients, are not encoded", async () => {
  const answers = new LargeWork();
  const gone = AbortSignal.abort();
  let made = 0;
  await answers.answer(
    list(3, () => made++),
    wanted,
  );
  await answers.answer(
    list(1000, () => made++),
    () => gone,
  );
  assert.equal(made, 0);
});
