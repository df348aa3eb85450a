import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Quantity } from "@dray/api";
import { Event, Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { fastClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { type EvictionSignal, type Observation, parseThresholds } from "../index.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

const ref = (name: string): { namespace: string; name: string } => ({ namespace: "default", name });
const command = ["sleep", "1000"];
const none = new Map<string, string>();

let cluster: TestCluster;
const observed = new Map<EvictionSignal, Observation>();
const available = (signal: EvictionSignal, amount: string): void => {
  observed.set(signal, { available: Quantity.parse(amount), capacity: Quantity.parse("10Gi") });
};
/** For one observation: the pod that is evicted then releases what it had. */
const onceShort = new Map<EvictionSignal, Observation>();
const plenty = (): void => {
  available("memory.available", "5Gi");
  available("nodefs.available", "5Gi");
};
before(async () => {
  cluster = await testCluster();
  await cluster.admin.resource(ServiceAccount).create({ metadata: ref("default") });
  plenty();
  await cluster.node("n1", {
    clock: fastClock(50),
    eviction: {
      thresholds: parseThresholds({
        hard: new Map([
          ["memory.available", "100Mi"],
          ["nodefs.available", "10%"],
        ]),
        soft: new Map([["memory.available", "200Mi"]]),
        softGracePeriod: new Map([["memory.available", "24h"]]),
        minimumReclaim: none,
      }),
      pressureTransitionPeriod: 30_000,
      maxPodGracePeriodSeconds: 0,
    },
    signals: {
      async observe() {
        const now = new Map([...observed, ...onceShort]);
        onceShort.clear();
        return now;
      },
      hasDedicatedImageFs: async () => false,
    },
  });
});
beforeEach(plenty);
after(() => cluster.close());

const condition = async (type: string): Promise<string> => {
  const { status } = await cluster.admin.resource(Node).get({ name: "n1" });
  const found = status?.conditions?.find((one) => one.type === type);
  return `${found?.status} ${found?.reason}`;
};
const runs = async (
  name: string,
  more: Partial<Pod["spec"]> = {},
  requests?: Record<string, string>,
): Promise<void> => {
  const containers = [{ name: "main", command, ...(requests && { resources: { requests } }) }];
  await cluster.admin.resource(Pod).create(podOn("n1", name, { containers, ...more }));
  await podBecomes(cluster.admin, ref(name), ({ status }) => status?.phase === "Running");
};
const phase = async (name: string): Promise<string | undefined> =>
  (await cluster.admin.resource(Pod).get(ref(name))).status?.phase;

test("ends the pod that is furthest above its requests, says why, and takes no others", async () => {
  await runs("critical", { priorityClassName: "system-node-critical" });
  await runs("within", {}, { memory: "512Mi" });
  await runs("greedy");
  // Above the soft threshold, which only keeps the condition.
  available("memory.available", "150Mi");
  onceShort.set("memory.available", {
    available: Quantity.parse("50Mi"),
    capacity: Quantity.parse("10Gi"),
  });
  const greedy = await podBecomes(cluster.admin, ref("greedy"), ({ status }) => status?.phase === "Failed");
  assert.equal(greedy.status?.reason, "Evicted");
  assert.match(
    greedy.status?.message ?? "",
    /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: 50Mi\. /,
  );
  const target = greedy.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  assert.deepEqual([target?.status, target?.reason], ["True", "TerminationByKubelet"]);
  await eventuallyPasses(async () =>
    assert.equal(await condition("MemoryPressure"), "True KubeletHasInsufficientMemory"),
  );
  await cluster.admin.resource(Pod).create(podOn("n1", "late", { containers: [{ name: "main", command }] }));
  const late = await podBecomes(cluster.admin, ref("late"), ({ status }) => status?.phase === "Failed");
  assert.deepEqual(
    [late.status?.reason, late.status?.message],
    ["Evicted", "Pod was rejected: The node had condition: [MemoryPressure]. "],
  );
  plenty();
  await eventuallyPasses(async () =>
    assert.equal(await condition("MemoryPressure"), "False KubeletHasSufficientMemory"),
  );
  assert.deepEqual([await phase("critical"), await phase("within")], ["Running", "Running"]);
  const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
  const reported = new Set(items.map(({ involvedObject, reason }) => `${involvedObject.name} ${reason}`));
  for (const one of [
    "greedy Evicted",
    "n1 EvictionThresholdMet",
    "n1 NodeHasInsufficientMemory",
    "n1 NodeHasSufficientMemory",
  ])
    assert.ok(reported.has(one), one);
});

test("never ends critical pods, though nothing else is left", async () => {
  await cluster.admin.resource(Pod).delete(ref("within"), { gracePeriodSeconds: 0 });
  available("nodefs.available", "500Mi");
  await eventuallyPasses(async () =>
    assert.equal(await condition("DiskPressure"), "True KubeletHasDiskPressure"),
  );
  // Some looks at the node later.
  await new Promise((resolve) => setTimeout(resolve, 600));
  assert.equal(await phase("critical"), "Running");
});
