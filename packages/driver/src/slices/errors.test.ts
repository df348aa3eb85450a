import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { StatusError } from "@dray/api";
import { ResourceSlice } from "@dray/api/resource/v1";
import { type Clock, systemClock } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import {
  type Driver,
  DroppedFieldsError,
  type ErrorContext,
  type ErrorDecision,
  PoolError,
} from "../index.ts";
import { type Fixture, fixture } from "../testing/internal/fixture.ts";
import { lamps } from "../testing/internal/smallest.ts";

let node: Fixture;
const nodes: Fixture[] = [];
beforeEach(() => {
  node = fixture();
  nodes.push(node);
});
after(() => Promise.all(nodes.map((one) => one.close())));

const slices = () => node.api.list(ResourceSlice);
const deviceNames = () => slices().flatMap(({ spec }) => (spec.devices ?? []).map(({ name }) => name));

/** Yields what it is given, one after the other, as the test goes on; keeps the errors that it hears of. */
function listening(decide: (error: Error, context: ErrorContext) => ErrorDecision | undefined) {
  const heard: { error: Error; context: ErrorContext }[] = [];
  const queue: unknown[] = [];
  let wake = () => {};
  const driver: Driver = {
    ...lamps,
    async *discover(signal) {
      while (!signal.aborted) {
        if (queue.length === 0) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        const next = queue.shift();
        if (next instanceof Error) throw next;
        yield next as never;
      }
    },
    onError(error, context) {
      heard.push({ error, context });
      return decide(error, context);
    },
  };
  const give = (next: unknown) => {
    queue.push(next);
    wake();
  };
  return { driver, heard, give };
}

/** Long timers never ring: what happens does not wait for a back-off. */
const withoutBackOff: Clock = {
  now: () => systemClock.now(),
  after: (milliseconds, run) => (milliseconds >= 400 ? () => {} : systemClock.after(milliseconds, run)),
};

test("a failed discover is retried if onError requests it", async () => {
  const { driver, heard, give } = listening(() => "retry");
  await node.start(driver);
  give(new Error("the bus is asleep"));
  give([{ devices: [{ name: "lamp-0" }] }]);
  await eventually("the devices after the second try", () => deviceNames().length === 1);
  assert.deepEqual(heard[0], {
    error: heard[0]!.error,
    context: { during: "discover", fatal: true },
  });
  assert.equal(heard[0]!.error.message, "the bus is asleep");
  assert.ok(node.log.some((line) => line.startsWith("Discovering devices failed")));
});

test("onError ends the driver by throwing or by returning end", async () => {
  const thrower = listening(() => {
    throw new Error("enough");
  });
  const one = await node.start(thrower.driver);
  thrower.give(new Error("no bus"));
  await assert.rejects(one.done, /^Error: enough$/);

  const ender = listening(() => "end");
  const other = await node.start(ender.driver);
  ender.give([{ devices: [{ name: "Lamp" }] }]);
  await assert.rejects(other.done, PoolError);
  assert.equal(ender.heard.length, 1, "asked once");
});

test("rejects a discover() that is not a generator and names the accepted form", async () => {
  const driver = { ...lamps, discover: async () => [{ devices: [] }] } as unknown as Driver;
  await assert.rejects(
    node.start(driver).then(({ done }) => done),
    /^TypeError: discover\(\): a Promise must be an async iterable of lists of pools: async \*discover/,
  );
});

test("a driver without a method is refused at once", async () => {
  const driver = { ...lamps, prepare: undefined } as unknown as Driver;
  await assert.rejects(
    node.start(driver).then(({ done }) => done),
    /^TypeError: driver lamp\.example\.com: prepare: undefined must be a function$/,
  );
});

test("an error of a malformed pool names path and value; published slices stay", async () => {
  const { driver, heard, give } = listening(() => undefined);
  await node.start(driver);
  give([{ devices: [{ name: "lamp-0" }] }]);
  await eventually("the devices", () => deviceNames().length === 1);
  const cases: [yielded: unknown, message: string][] = [
    [undefined, "pools: undefined must be a list of pools"],
    [{ devices: [] }, 'pools: {"devices":[]} must be a list of pools'],
    [[null], "pools[0]: null must be a pool, an object with devices"],
    [[{}], "pools[0].devices: undefined must be a list of devices"],
    [[{ devices: ["lamp-0"] }], 'pools[0].devices[0]: "lamp-0" must be a device, an object with a name'],
    [
      [{ devices: [] }, { name: "b", devices: [{ name: "ok" }, { id: 1 }] }],
      "pools[1].devices[1].name: undefined must be a DNS label: at most 63 lower-case letters, digits and dashes",
    ],
    [[{ name: 7, devices: [] }], "pools[0].name: 7 must be a string that is not empty"],
    [
      [{ devices: [{ name: "a", attributes: ["x"] }] }],
      'pools[0].devices[0].attributes: ["x"] must be an object, by name',
    ],
    [[{ devices: [{ name: "a", taints: {} }] }], "pools[0].devices[0].taints: {} must be a list"],
    [[{ devices: [], sharedCounters: {} }], "pools[0].sharedCounters: {} must be a list of counter sets"],
  ];
  for (const [yielded, message] of cases) {
    give(yielded);
    const { error, context } = await eventually(message, () => heard.shift());
    assert.ok(error instanceof PoolError);
    assert.equal(error.message, message);
    assert.deepEqual(context, { during: "discover", fatal: false });
  }
  assert.deepEqual(deviceNames(), ["lamp-0"]);
});

test("wrong shapes of prepare are errors of the claim", async () => {
  const returned: unknown[] = [
    undefined,
    ["x"],
    [{ device: { result: { device: "lamp-7" } }, edits: {} }],
    "spread",
    [{ edits: {} }],
  ];
  await node.start({
    ...lamps,
    async prepare({ devices }) {
      const next = returned.shift();
      return (next === "spread" ? [{ device: { ...devices[0] } }] : next) as never;
    },
  });
  const claim = node.claim("one", [{}]);
  const { uid } = claim.metadata;
  const ask = async () =>
    (await node.prepare(claim))[uid]!.error.replace(`error preparing devices for claim ${uid}: `, "");
  assert.equal(await ask(), "prepare(claim): undefined must be a list of {device, edits}");
  assert.equal(await ask(), 'prepare(claim)[0]: "x" must be an object {device, edits}');
  assert.equal(
    await ask(),
    'prepare(claim)[0].device: {"result":{"device":"lamp-7"}} must be one of claim.devices',
  );
  assert.equal(await ask(), "prepare(claim)[0].edits: undefined must be an object, edits of CDI");
  assert.equal(await ask(), "prepare(claim)[0].device: undefined must be one of claim.devices");
});

test("a correction does not wait for the back-off of what the server refused", async () => {
  const { driver, heard, give } = listening(() => undefined);
  node.api.before = (_, object) => {
    if ((object as ResourceSlice).spec.devices?.some(({ name }) => name === "bad")) {
      throw StatusError.of("Invalid", "spec.devices[0]: bad");
    }
  };
  await node.start(driver, { clock: withoutBackOff });
  for (let i = 0; i < 3; i++) {
    give([{ devices: [{ name: "bad" }] }]);
    await eventually("a refusal", () => heard.length === i + 1);
    assert.deepEqual(heard[i]!.context, { during: "publish", fatal: false });
    assert.ok(StatusError.is(heard[i]!.error, "Invalid"));
  }
  give([{ devices: [{ name: "good" }] }]);
  await eventually("the correction", () => deviceNames().includes("good"));
});

test("a pool that the server refuses keeps no other from being published", async () => {
  const { driver, heard, give } = listening(() => undefined);
  node.api.before = (_, object) => {
    if ((object as ResourceSlice).spec.pool.name === "bad") throw StatusError.of("Invalid", "no");
  };
  await node.start(driver, { clock: withoutBackOff });
  give([
    { name: "bad", devices: [{ name: "lamp-0" }] },
    { name: "good", devices: [{ name: "lamp-1" }] },
  ]);
  await eventually("the good pool", () => deviceNames().includes("lamp-1"));
  assert.equal((await eventually("an error", () => heard[0])).error.message, "no");
});

test("dropped fields are an error with the gates, which the author may end the driver for", async () => {
  node.api.admit = (object) => {
    for (const device of (object as ResourceSlice).spec.devices ?? []) delete device.taints;
  };
  const { driver, heard, give } = listening((error) =>
    error instanceof DroppedFieldsError ? "end" : undefined,
  );
  const one = await node.start(driver);
  give([{ name: "p", devices: [{ name: "lamp-0", taints: [{ key: "k", effect: "NoSchedule" }] }] }]);
  await assert.rejects(one.done, DroppedFieldsError);
  const error = heard[0]!.error as DroppedFieldsError;
  assert.deepEqual([error.pool, error.gates], ["p", ["DRADeviceTaints"]]);
  assert.equal(error.slice, slices()[0]!.metadata.name);
});
