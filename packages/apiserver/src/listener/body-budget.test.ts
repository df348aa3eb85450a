import assert from "node:assert/strict";
import { test } from "node:test";
import { eventLoopTurns, fakeClock } from "@dray/testing/clock";
import { BodyBudget, type BodyRoom } from "./body-budget.ts";

const mebibyte = 2 ** 20;

/** A budget of 4 MiB, and what became of each sender: `waits`, `room`, `none`, `cut off`. */
function tested() {
  const clock = fakeClock();
  const budget = new BodyBudget(clock, 4 * mebibyte);
  const states: Record<string, string> = {};
  const stateOf = (...names: readonly string[]): readonly (string | undefined)[] =>
    names.map((name) => states[name]);
  const rooms: Record<string, BodyRoom> = {};
  const clients: Record<string, AbortController> = {};
  const send = async (name: string, bytes = 2 * mebibyte): Promise<void> => {
    states[name] = "waits";
    const client = new AbortController();
    clients[name] = client;
    const abort = (): void => {
      states[name] = "cut off";
      rooms[name]?.release();
    };
    const room = await budget.take({ bytes, signal: client.signal, abort });
    if (room !== undefined) rooms[name] = room;
    states[name] = room === undefined ? "none" : "room";
  };
  return { clock, budget, states, stateOf, rooms, clients, send };
}

test("bodies above the budget wait in their order", async () => {
  const { budget, states, rooms, send } = tested();
  for (const name of ["a", "b", "c", "d"]) void send(name);
  void send("small", 1);
  await eventLoopTurns();
  // A smaller one does not overtake: large ones would wait for ever.
  assert.deepEqual(states, { a: "room", b: "room", c: "waits", d: "waits", small: "waits" });
  rooms["a"]!.release();
  rooms["a"]!.release();
  await eventLoopTurns();
  assert.deepEqual([states["c"], states["d"], budget.used], ["room", "waits", 4 * mebibyte]);
  for (const name of ["b", "c"]) rooms[name]!.release();
  await eventLoopTurns();
  for (const name of ["d", "small"]) rooms[name]!.release();
  assert.equal(budget.used, 0);
  // The header of a body may name none, or too large a size.
  await send("huge", 9 * mebibyte);
  rooms["huge"]!.received(mebibyte);
  await send("e");
  assert.deepEqual([rooms["e"] !== undefined, budget.used], [true, 3 * mebibyte]);
});

test("a body waits for 15 s at most, and one of a client that has gone not at all", async () => {
  const { clock, states, rooms, clients, send } = tested();
  for (const name of ["a", "b", "c", "d"]) void send(name);
  await eventLoopTurns();
  for (const name of ["a", "b"]) rooms[name]!.received(2 * mebibyte);
  clients["c"]!.abort();
  await eventLoopTurns();
  assert.deepEqual([states["c"], states["d"]], ["none", "waits"]);
  clock.advance(15_000);
  await eventLoopTurns();
  assert.deepEqual(states, { a: "room", b: "room", c: "none", d: "none" });
});

test("a slow sender is disconnected, but only if others wait", async () => {
  const { clock, states, stateOf, rooms, send } = tested();
  await send("slow");
  await send("fast");
  rooms["fast"]!.received(2 * mebibyte);
  clock.advance(60_000);
  assert.deepEqual(states, { slow: "room", fast: "room" });
  // It is cut off at once.
  void send("next");
  await eventLoopTurns();
  assert.deepEqual(states, { slow: "cut off", fast: "room", next: "room" });
  void send("last");
  // 1 s, and 2 MiB at 512 KiB/s.
  clock.advance(4_999);
  assert.deepEqual(stateOf("next", "last"), ["room", "waits"]);
  clock.advance(1);
  await eventLoopTurns();
  assert.deepEqual(stateOf("next", "last"), ["cut off", "room"]);
});
