import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { requestInfo } from "../request/info.ts";
import { FlowCounts } from "./counts.ts";
import { Flow } from "./flow.ts";
import { handOf } from "./hand.ts";
import { PriorityLevel } from "./priority-level.ts";
import type { QueueSet } from "./queue-set.ts";
import { FlowRequest, oneSeat, type WorkEstimate } from "./request.ts";

const queuing = { queues: 64, handSize: 6, queueLengthLimit: 50 };
const info = requestInfo("GET", "/version");

interface Level {
  readonly queues: QueueSet;
  readonly clock: ReturnType<typeof fakeClock>;
  start(user: string, work?: WorkEstimate): FlowRequest;
  readonly counts: FlowCounts;
}

/** Creates a priority level with this number of seats. */
function levelOf(seats: number, queues?: object): Level {
  const clock = fakeClock();
  const level = new PriorityLevel("l", clock);
  const counts = new FlowCounts("l", "s");
  const spec = {
    priorityLevelConfiguration: { name: "l" },
    distinguisherMethod: { type: "ByUser" },
  };
  const flow = new Flow({ metadata: { name: "s" }, spec }, level, counts);
  const { requests } = level;
  requests.configure(seats, queues as typeof queuing | undefined);
  return {
    queues: requests,
    clock,
    counts,
    start(user, work = oneSeat) {
      const request = new FlowRequest({
        flow,
        info,
        user: { name: user, groups: [] },
        work,
        now: clock.now(),
      });
      requests.start(request);
      return request;
    },
  };
}

test("a level without queues rejects requests without a free seat", () => {
  const { queues, start, counts } = levelOf(2);
  const [first, second, third] = [start("a"), start("a"), start("b")];
  assert.deepEqual([first.state, second.state, third.state], ["executing", "executing", "rejected"]);
  assert.deepEqual([...counts.rejected], [["concurrency-limit", 1]]);
  queues.finish(first);
  assert.equal(start("b").state, "executing");
});

test("a full queue rejects, and waiting requests are executed as seats become free", () => {
  const { queues, start, counts } = levelOf(1, { queues: 1, handSize: 1, queueLengthLimit: 2 });
  const requests = [1, 2, 3, 4].map(() => start("a"));
  const states = (): string[] => requests.map(({ state }) => state);
  assert.deepEqual(states(), ["executing", "waiting", "waiting", "rejected"]);
  assert.deepEqual([...counts.rejected], [["queue-full", 1]]);
  queues.finish(requests[0]!);
  assert.deepEqual(states().slice(1, 3), ["executing", "waiting"]);
  queues.timeOut(requests[2]!);
  assert.deepEqual(states().slice(1, 3), ["executing", "rejected"]);
  assert.deepEqual([queues.waiting, queues.seatsWaiting, counts.waiting], [0, 0, 0]);
  queues.finish(requests[1]!);
  assert.equal(queues.isIdle, true);
  assert.equal(queues.seatsInUse, 0);
});

test("a flow with few requests is not delayed by one with many", () => {
  const { queues, clock, start } = levelOf(1, queuing);
  let executing = start("elephant");
  const crowd = Array.from({ length: 200 }, () => start("elephant"));
  const mouse = start("mouse");
  let before = 0;
  while (mouse.state === "waiting") {
    clock.advance(3);
    queues.finish(executing);
    executing = [...queues.executing][0]!;
    before++;
  }
  assert.equal(mouse.state, "executing");
  // The crowd has six queues of its own: one request of each may precede the only one of the other flow.
  assert.ok(before <= 7, `${before} of the crowd were before it`);
  assert.ok(crowd.filter(({ state }) => state === "waiting").length > 190);
});

test("two busy flows get the same time, though the requests of one take longer", () => {
  const { queues, clock, start } = levelOf(1, { queues: 64, handSize: 1, queueLengthLimit: 1000 });
  for (let index = 0; index < 900; index++) for (const user of ["slow", "fast"]) start(user);
  const time: Record<string, number> = { slow: 0, fast: 0 };
  for (let index = 0; index < 400; index++) {
    const [request] = [...queues.executing];
    const { name } = request!.user;
    const duration = name === "slow" ? 30 : 10;
    time[name]! += duration;
    clock.advance(duration);
    queues.finish(request!);
  }
  const ratio = time["slow"]! / time["fast"]!;
  assert.ok(ratio > 0.9 && ratio < 1.1, `${time["slow"]} ms and ${time["fast"]} ms`);
});

test("a request wider than its level is executed alone", () => {
  const { queues, start } = levelOf(2, queuing);
  const wide = { initialSeats: 5, finalSeats: 0, latency: 0 };
  const first = start("a");
  const second = start("a", wide);
  assert.deepEqual([first.state, second.state], ["executing", "waiting"]);
  queues.finish(first);
  assert.equal(second.state, "executing");
  const third = start("a");
  assert.equal(third.state, "waiting");
  queues.finish(second);
  assert.equal(third.state, "executing");
});

test("the seats of a write stay in use while its watchers are notified", () => {
  const { queues, clock, start } = levelOf(3, queuing);
  const first = start("a", { initialSeats: 1, finalSeats: 3, latency: 5 });
  queues.finish(first);
  const second = start("a");
  assert.equal(second.state, "waiting");
  clock.advance(5);
  assert.equal(second.state, "executing");
});

test("a hand has the configured number of distinct queues, and depends on the flow", () => {
  const hands = Array.from({ length: 200 }, (_, index) => handOf("s", `user-${index}`, queuing));
  for (const hand of hands) {
    assert.equal(new Set(hand).size, 6);
    assert.ok(hand.every((queue) => queue >= 0 && queue < 64));
  }
  assert.equal(new Set(hands.flat()).size, 64, "no queue is left out");
  assert.deepEqual(handOf("s", "user-1", queuing), hands[1]);
  assert.deepEqual([...handOf("s", "u", { queues: 3, handSize: 3 })].sort(), [0, 1, 2]);
});
