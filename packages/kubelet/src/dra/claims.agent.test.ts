import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigMap, Event, Pod } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { type Client, silentLog, systemClock } from "@dray/client";
import { eventuallyPasses } from "@dray/testing/eventually";
import { partial } from "@dray/testing/partial";
import { podOn } from "../testing/cluster.ts";
import {
  becomes,
  checkpoint,
  events,
  name,
  podWithClaim,
  running,
  startDraAgent,
  suite,
} from "../testing/dra-agent.ts";
import { DraManager } from "./manager.ts";
import { DraPlugins } from "./plugins.ts";

startDraAgent({ driver: true });

test("a claim made again under its name waits until the old one is unprepared", async () => {
  suite.driver.calls.length = 0;
  await podWithClaim("p6", "c6", "sleep 1000");
  await becomes("p6", running);
  suite.driver.unprepareError = "device is busy";
  const claims = suite.cluster.admin.resource(ResourceClaim);
  await suite.cluster.admin
    .resource(Pod)
    .delete({ namespace: "default", name: "p6" }, { gracePeriodSeconds: 0 });
  await claims.delete({ namespace: "default", name: "c6" });
  await podWithClaim("p7", "c6", "sleep 1000");
  await eventuallyPasses(async () =>
    assert.ok(
      (await events("p7")).some((event) =>
        /old ResourceClaim with same name c6 and different UID \S+ still exists \(previous pod force-deleted\?!\)/.test(
          event,
        ),
      ),
    ),
  );
  // Retried again and again, but reported once, since the pod is gone.
  await eventuallyPasses(async () =>
    assert.ok(suite.driver.calls.filter((call) => call === "unprepare c6").length >= 3),
  );
  const { items } = await suite.cluster.admin.resource(Event).list({ namespace: "default" });
  assert.deepEqual(
    items
      .filter(({ involvedObject: { name }, reason }) => name === "p6" && reason?.startsWith("FailedUnp"))
      .map(({ count }) => count),
    [1],
  );
  suite.driver.unprepareError = "";
  await becomes("p7", running);
  assert.deepEqual(
    suite.driver.calls.filter((call, i) => call !== suite.driver.calls[i - 1]),
    ["prepare c6", "unprepare c6", "prepare c6"],
  );
  await suite.cluster.admin
    .resource(Pod)
    .delete({ namespace: "default", name: "p7" }, { gracePeriodSeconds: 0 });
  await eventuallyPasses(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
});

const devices = (): unknown[] =>
  checkpoint().ClaimInfoStateList.map(
    ({ DriverState }) =>
      (DriverState as Record<string, { Devices: { DeviceName: string }[] | null }>)[name]?.Devices?.[0]
        ?.DeviceName,
  );

for (const restarted of [false, true])
  test(`a claim allocated anew waits for the pod of its earlier allocation${restarted ? ", agent restarted" : ""}`, async () => {
    suite.driver.calls.length = 0;
    const [old, next, claim] = restarted ? ["p22", "p23", "c22"] : ["p20", "p21", "c20"];
    await podWithClaim(old, claim, "sleep 1000");
    await becomes(old, running);
    suite.driver.unprepareError = "device is busy";
    const pods = suite.cluster.admin.resource(Pod);
    if (restarted) {
      await suite.node.stop({ leavePods: true });
      suite.node = await suite.cluster.node("n1");
    }
    await pods.delete({ namespace: "default", name: old }, { gracePeriodSeconds: 0 });
    suite.driver.device = "gpu-1";
    await podWithClaim(next, claim, "sleep 1000", { device: "gpu-1" });
    await eventuallyPasses(async () =>
      assert.ok(
        (await events(next)).some((event) =>
          event.includes(`claim default/${claim} is still prepared for an earlier allocation`),
        ),
      ),
    );
    assert.deepEqual(devices(), ["gpu-0"]);
    suite.driver.unprepareError = "";
    await becomes(next, running);
    assert.deepEqual(devices(), ["gpu-1"]);
    assert.deepEqual(
      suite.driver.calls.filter((call, i) => call !== suite.driver.calls[i - 1]),
      [`prepare ${claim}`, `unprepare ${claim}`, `prepare ${claim}`],
    );
    suite.driver.device = "gpu-0";
    await pods.delete({ namespace: "default", name: next }, { gracePeriodSeconds: 0 });
    await eventuallyPasses(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
  });

test("a claim that was allocated anew and has no other pod is unprepared first, then prepared", async () => {
  suite.driver.calls.length = 0;
  suite.driver.prepareError = "not yet";
  await podWithClaim("p24", "c24", "sleep 1000");
  await eventuallyPasses(async () => assert.deepEqual(suite.driver.calls, ["prepare c24"]));
  const claims = suite.cluster.admin.resource(ResourceClaim);
  const claim = await claims.get({ namespace: "default", name: "c24" });
  const results = [{ request: "gpu", driver: name, pool: "pool", device: "gpu-1" }];
  const free = await claims.update({ ...claim, status: {} }, { subresource: "status" });
  await claims.update(
    { ...free, status: { ...claim.status, allocation: { devices: { results } } } },
    { subresource: "status" },
  );
  suite.driver.device = "gpu-1";
  suite.driver.prepareError = "";
  await becomes("p24", running);
  assert.deepEqual(
    suite.driver.calls.filter((call, i) => call !== suite.driver.calls[i - 1]),
    ["prepare c24", "unprepare c24", "prepare c24"],
  );
  assert.deepEqual(devices(), ["gpu-1"]);
  suite.driver.device = "gpu-0";
  await suite.cluster.admin
    .resource(Pod)
    .delete({ namespace: "default", name: "p24" }, { gracePeriodSeconds: 0 });
  await eventuallyPasses(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
});

test("a pod that is not in reservedFor may not use the claim, and nothing is prepared", async () => {
  suite.driver.calls.length = 0;
  await podWithClaim("p8", "c8", "sleep 1000");
  await becomes("p8", running);
  await suite.cluster.admin.resource(Pod).create(
    podOn("n1", "p9", {
      resourceClaims: [{ name: "gpu", resourceClaimName: "c8" }],
      containers: [{ name: "main", command: ["sleep", "1000"] }],
    }),
  );
  await eventuallyPasses(async () =>
    assert.ok(
      (await events("p9")).some((event) =>
        /pod p9 \(\S+\) is not allowed to use ResourceClaim c8/.test(event),
      ),
    ),
  );
  assert.deepEqual(suite.driver.calls, ["prepare c8"]);
  for (const pod of ["p8", "p9"])
    await suite.cluster.admin
      .resource(Pod)
      .delete({ namespace: "default", name: pod }, { gracePeriodSeconds: 0 });
  await eventuallyPasses(async () => assert.deepEqual(suite.driver.calls, ["prepare c8", "unprepare c8"]));
});

test("a pod deleted while its claim is being prepared is unprepared, and its container never starts", async () => {
  suite.driver.calls.length = 0;
  let open = (): void => {};
  suite.driver.gate = new Promise((resolve) => {
    open = resolve;
  });
  await podWithClaim("p10", "c10", "sleep 1000");
  await eventuallyPasses(async () => assert.deepEqual(suite.driver.calls, ["prepare c10"]));
  assert.deepEqual(
    checkpoint().ClaimInfoStateList.map((claim) => claim.ClaimName),
    ["c10"],
    "kept before the call",
  );
  await suite.cluster.admin.resource(Pod).delete({ namespace: "default", name: "p10" });
  open();
  await eventuallyPasses(async () => assert.deepEqual(suite.driver.calls, ["prepare c10", "unprepare c10"]));
  await eventuallyPasses(async () =>
    assert.deepEqual((await suite.cluster.admin.resource(Pod).list()).items, []),
  );
  assert.ok(!(await events("p10")).some((event) => event.startsWith("Started")));
});

test("claims are prepared once the pod's volumes are in place", async () => {
  suite.driver.calls.length = 0;
  await podWithClaim("p32", "c31", "sleep 1000", {
    volumes: [{ name: "v", configMap: { name: "late" } }],
  });
  await eventuallyPasses(async () =>
    assert.ok((await events("p32")).some((event) => event.startsWith("FailedMount"))),
  );
  assert.deepEqual(suite.driver.calls, []);
  await suite.cluster.admin
    .resource(ConfigMap)
    .create({ metadata: { namespace: "default", name: "late" }, data: { a: "b" } });
  await becomes("p32", running);
  assert.deepEqual(suite.driver.calls, ["prepare c31"]);
  await suite.cluster.admin
    .resource(Pod)
    .delete({ namespace: "default", name: "p32" }, { gracePeriodSeconds: 0 });
  await eventuallyPasses(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
});

test("a claim of a pod group is for its pods alone", async () => {
  suite.driver.calls.length = 0;
  for (const [pod, group, reservation, runs] of [
    [
      "p33",
      "trains",
      { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "trains", uid: "g" },
      true,
    ],
    [
      "p34",
      "trains",
      { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "others", uid: "h" },
      false,
    ],
    [
      "p35",
      undefined,
      { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "trains", uid: "g" },
      false,
    ],
    ["p36", "trains", { apiGroup: "example.com", resource: "podgroups", name: "trains", uid: "g" }, false],
  ] as const) {
    // As with groups of pods enabled.
    const object = { ...podOn("n1", pod, { containers: [{ name: "main", command: ["sleep", "1000"] }] }) };
    const reserved = { metadata: { namespace: "default", name: `${pod}-c`, uid: "u" }, status: {} };
    const claim = {
      ...reserved,
      status: { allocation: { devices: { results: [] } }, reservedFor: [reservation] },
    };
    const manager = new DraManager({
      client: { resource: () => ({ get: async () => claim }) } as unknown as Client,
      plugins: new DraPlugins(silentLog),
      checkpoint: join(suite.root(), `${pod}.state`),
      clock: systemClock,
      log: silentLog,
      released: () => {},
    });
    const prepared = manager.prepare(
      partial<Pod>({
        ...object,
        metadata: { ...object.metadata, uid: "p" },
        spec: {
          ...object.spec,
          resourceClaims: [{ name: "gpu", resourceClaimName: `${pod}-c` }],
          ...(group === undefined ? {} : { schedulingGroup: { podGroupName: group } }),
        },
      }),
    );
    if (runs) await prepared;
    else await assert.rejects(prepared, /is not allowed to use ResourceClaim/);
  }
});
