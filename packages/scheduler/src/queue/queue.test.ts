import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod } from "@dray/api/core/v1";
import { type FakeClock, fakeClock } from "@dray/testing/clock";
import { partial } from "@dray/testing/partial";
import { nodeEvent } from "../framework/changes.ts";
import { extensionPoints } from "../framework/extension-points.ts";
import type { ClusterEvent, Plugin } from "../framework/framework.ts";
import { SchedulingQueue } from "./queue.ts";

/** A pod of which the queue reads what is given here. */
function podOf(name: string, { priority = 0, gated = false } = {}): Pod {
  const spec = { containers: [], priority, ...(gated && { schedulingGates: [{ name: "g" }] }) };
  return partial<Pod>({ metadata: { name, namespace: "d", uid: name }, spec });
}

const gate: Plugin = {
  name: "Gate",
  preEnqueue: (pod) => (pod.spec.schedulingGates?.length ? "gated" : undefined),
  mayHelp: () => false,
};
const wantsNode: Plugin = { name: "WantsNode", mayHelp: (_pod, { kind }) => kind === "node" };
const node = { metadata: { name: "n" } } as Node;
const nodeCame: ClusterEvent = nodeEvent("add", node);
const sliceCame: ClusterEvent = { kind: "slice" };

function queueOf(): { queue: SchedulingQueue; clock: FakeClock; calls: () => number } {
  const clock = fakeClock();
  let calls = 0;
  const points = extensionPoints([gate, wantsNode]);
  const queue = new SchedulingQueue({ points: () => points, clock, ready: () => calls++ });
  return { queue, clock, calls: () => calls };
}

const next = (queue: SchedulingQueue): string | undefined => queue.pop()?.pod.metadata.name;

test("the highest priority comes first, then the pod that came first", () => {
  const { queue, clock } = queueOf();
  queue.set(podOf("a"), true);
  clock.advance(1);
  queue.set(podOf("b"), true);
  queue.set(podOf("c", { priority: 5 }), true);
  assert.deepEqual([next(queue), next(queue), next(queue), next(queue)], ["c", "a", "b", undefined]);
});

test("a refused pod waits for an event that one of its plugins finds helpful", () => {
  const { queue, clock } = queueOf();
  queue.set(podOf("a"), true);
  queue.failed(queue.pop()!, ["WantsNode"]);
  clock.advance(60_000);
  queue.notify(sliceCame);
  assert.equal(next(queue), undefined);
  queue.notify(nodeCame);
  assert.equal(next(queue), "a");
});

test("a helpful event that comes early waits for the end of the back-off: 1, 2, 4, 8, 10, 10 seconds", () => {
  const { queue, clock } = queueOf();
  queue.set(podOf("a"), true);
  for (const seconds of [1, 2, 4, 8, 10, 10]) {
    queue.failed(queue.pop()!, ["WantsNode"]);
    queue.notify(nodeCame);
    clock.advance(seconds * 1000 - 1);
    assert.deepEqual(queue.counts().backoff, 1, `${seconds} s`);
    clock.advance(1);
    assert.deepEqual(queue.counts().active, 1, `${seconds} s`);
  }
});

test("a helpful event that came during the attempt is not missed", () => {
  const { queue, clock } = queueOf();
  queue.set(podOf("a"), true);
  const helped = queue.pop()!;
  queue.notify(sliceCame);
  queue.notify(nodeCame);
  queue.failed(helped, ["WantsNode"]);
  clock.advance(1000);
  const again = queue.pop()!;
  assert.equal(again.pod.metadata.name, "a");
  // Events during the first attempt do not count for the second.
  queue.failed(again, ["WantsNode"]);
  clock.advance(60_000);
  assert.equal(next(queue), undefined);
});

test("an error is tried again after a while, whatever happens", () => {
  const { queue, clock, calls } = queueOf();
  queue.set(podOf("a"), true);
  queue.failed(queue.pop()!, []);
  assert.equal(next(queue), undefined);
  const before = calls();
  clock.advance(1000);
  assert.equal(calls(), before + 1);
  assert.equal(next(queue), "a");
});

test("a gated pod comes when its gate opens, and not before", () => {
  const { queue } = queueOf();
  queue.set(podOf("a", { gated: true }), true);
  queue.notify(nodeCame);
  assert.equal(next(queue), undefined);
  assert.equal(queue.counts().gated, 1);
  queue.set(podOf("a"), true);
  assert.equal(next(queue), "a");
});

test("a pod that is deleted during its attempt is forgotten, and one of the same name is another", () => {
  const { queue, clock } = queueOf();
  queue.set(podOf("a"), true);
  const entry = queue.pop()!;
  queue.delete("a");
  assert.equal(queue.failed(entry, []), false);
  clock.advance(60_000);
  assert.equal(next(queue), undefined);
  queue.set(podOf("a"), true);
  assert.equal(queue.failed(entry, []), false);
  assert.equal(queue.pop()?.attempts, 1);
});

test("a pod that is deleted during its back-off does not come back", () => {
  const { queue, clock } = queueOf();
  queue.set(podOf("a"), true);
  queue.failed(queue.pop()!, []);
  queue.delete("a");
  clock.advance(60_000);
  assert.equal(next(queue), undefined);
});

test("an older state of a pod in flight does not make it come twice", () => {
  const { queue } = queueOf();
  queue.set(podOf("a"), true);
  queue.pop();
  queue.set(podOf("a"), true);
  assert.equal(next(queue), undefined);
});

test("a pod that no event has helped for five minutes is tried again", () => {
  const { queue, clock } = queueOf();
  queue.set(podOf("a"), true);
  queue.failed(queue.pop()!, ["WantsNode"]);
  clock.advance(300_000);
  assert.equal(queue.counts().unschedulable, 1);
  clock.advance(30_000);
  assert.equal(next(queue), "a");
});

test("with nothing else to do a pod is tried before its back-off is over, but not after an error", () => {
  const { queue, clock } = queueOf();
  queue.set(podOf("rejected"), true);
  queue.failed(queue.pop()!, ["WantsNode"]);
  queue.set(podOf("failed"), true);
  queue.failed(queue.pop()!, []);
  queue.notify(nodeCame);
  assert.deepEqual([queue.counts().backoff, next(queue), next(queue)], [2, "rejected", undefined]);
  clock.advance(1000);
  assert.equal(next(queue), "failed");
});

test("after an error the rejections before it do not count for the back-off", () => {
  const { queue, clock } = queueOf();
  queue.set(podOf("a"), true);
  for (let i = 0; i < 3; i++) {
    queue.failed(queue.pop()!, ["WantsNode"]);
    queue.notify(nodeCame);
  }
  queue.failed(queue.pop()!, []);
  clock.advance(999);
  assert.equal(next(queue), undefined);
  clock.advance(1);
  assert.equal(next(queue), "a");
});

test("back-off times are configurable, and none at all is possible", () => {
  const clock = fakeClock();
  const points = extensionPoints([wantsNode]);
  const queueWith = (initialBackoff: number, maxBackoff: number): SchedulingQueue => {
    const queue = new SchedulingQueue({
      points: () => points,
      clock,
      ready() {},
      initialBackoff,
      maxBackoff,
    });
    queue.set(podOf("a"), true);
    for (let i = 0; i < 3; i++) {
      queue.failed(queue.pop()!, ["WantsNode"]);
      queue.notify(nodeCame);
    }
    return queue;
  };
  const slow = queueWith(2_000, 5_000);
  clock.advance(4_999);
  assert.equal(slow.counts().backoff, 1);
  clock.advance(1);
  assert.equal(slow.counts().active, 1);
  assert.equal(queueWith(1_000, 0).counts().active, 1);
});

test("a gated pod is asked again only for an event that its gate finds helpful", () => {
  let asked = 0;
  let open = false;
  const slices: Plugin = {
    name: "Slices",
    preEnqueue() {
      asked++;
      return open ? undefined : "no slice";
    },
    mayHelp: (_pod, { kind }) => kind === "slice",
  };
  const points = extensionPoints([slices, wantsNode]);
  const queue = new SchedulingQueue({ points: () => points, clock: fakeClock(), ready() {} });
  queue.set(podOf("a"), true);
  assert.equal(asked, 1);
  queue.notify(nodeCame);
  assert.equal(asked, 1);
  queue.notify(sliceCame);
  assert.deepEqual([asked, queue.counts().gated], [2, 1]);
  open = true;
  queue.notify(sliceCame);
  assert.equal(next(queue), "a");
});

test("the QueueSort plugin of the profile decides about the order", () => {
  const byName: Plugin = {
    name: "ByName",
    less: (a, b) => a.pod.metadata.name > b.pod.metadata.name,
    mayHelp: () => false,
  };
  const points = extensionPoints([byName]);
  const queue = new SchedulingQueue({ points: () => points, clock: fakeClock(), ready() {} });
  for (const name of ["b", "c", "a"]) queue.set(podOf(name, { priority: 7 }), true);
  assert.deepEqual([next(queue), next(queue), next(queue)], ["c", "b", "a"]);
});

test("resources that a rejected pod releases wake others, not the pod itself", () => {
  const released: Plugin = { name: "WantsNode", mayHelp: (_pod, { kind }) => kind === "released" };
  const points = extensionPoints([released]);
  const clock = fakeClock();
  const queue = new SchedulingQueue({ points: () => points, clock, ready() {} });
  queue.set(podOf("other"), true);
  queue.failed(queue.pop()!, ["WantsNode"]);
  queue.set(podOf("own"), true);
  const own = queue.pop()!;
  queue.notify({ kind: "released", pod: own.pod });
  queue.failed(own, ["WantsNode"]);
  assert.deepEqual(queue.counts(), {
    active: 0,
    backoff: 1,
    unschedulable: 1,
    gated: 0,
    "in-flight": 0,
  });
});
