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
  const answers = new LargeWork(() => 0);
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
  const answers = new LargeWork(() => 0);
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

test("a request pauses when it has held up the event loop, one with a large body always", async () => {
  let time = 0;
  const work = new LargeWork(() => time);
  const { signal } = new AbortController();
  let turn = 0;
  const counted = async (pause: () => Promise<void>): Promise<number> => {
    const before = turn;
    let isOver = false;
    const count = (): void => {
      turn++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await pause();
    isOver = true;
    return turn - before;
  };
  const small = work.pausesOf({ signal });
  assert.equal(small.isLarge, false);
  assert.equal(await counted(small), 0);
  assert.equal(small.isDue(), false);
  time += 20;
  assert.equal(small.isDue(), true);
  assert.ok((await counted(small)) > 5);
  assert.equal(small.isDue(), false);
  assert.ok((await counted(work.pausesOf({ signal, body: new Uint8Array(300_000) }))) > 5);
});

test("nothing more is done for a client that has disconnected", async () => {
  const work = new LargeWork(() => 0);
  const gone = new AbortController();
  const pause = work.pausesOf({ signal: gone.signal, body: new Uint8Array(300_000) });
  await pause();
  gone.abort();
  await assert.rejects(pause(), /the request has ended/);
});
