import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type Client, createClient, systemClock } from "@dray/client";
import { startControllers } from "@dray/controllers";
import { runSimulatedNodes } from "@dray/kubelet/simulated";
import { startScheduler } from "@dray/scheduler";
import { type TestApiServer, withApiServer } from "@dray/testing/api-server";
import { eventually } from "@dray/testing/eventually";
import { faultLog } from "@dray/testing/log";
import { oddTransport } from "@dray/testing/odd-transport";
import { seedOr } from "@dray/testing/random";

const rounds = 4;
const driver = "gpu.example.com";

/** A pod with a device, on a node that nothing is wrong with. */
async function createHealthy(admin: Client): Promise<void> {
  const devices = [{ name: "gpu-0" }];
  await admin.resource(DeviceClass).create({
    metadata: { name: "gpu" },
    spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
  });
  await admin.resource(ResourceSlice).create({
    metadata: { name: "n1" },
    spec: { driver, nodeName: "n1", pool: { name: "n1", generation: 1, resourceSliceCount: 1 }, devices },
  });
  await admin.resource(ResourceClaim).create({
    metadata: { namespace: "default", name: "c" },
    spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } },
  });
  await admin.resource(Pod).create({
    metadata: { namespace: "default", name: "p" },
    spec: {
      nodeSelector: { healthy: "yes" },
      resourceClaims: [{ name: "gpu", resourceClaimName: "c" }],
      containers: [{ name: "c", image: "i", resources: { claims: [{ name: "gpu" }] } }],
    },
  });
}

/** Runs all components on a server that sends odd objects. Returns the faults. */
async function faultsOf({ admin, transport }: TestApiServer, seed: number): Promise<readonly string[]> {
  const { log, faults } = faultLog();
  const stop = new AbortController();
  const { signal } = stop;
  const client = (name: string): Client =>
    createClient({
      transport: oddTransport(transport(name, "system:masters"), seed),
      userAgent: name,
      clock: systemClock,
      log,
    });
  const common = { clock: systemClock, log, random: () => 0.5, features: featuresOf(), signal };
  const registered = Promise.withResolvers<void>();
  const nodes = runSimulatedNodes({
    ...common,
    client: client("nodes"),
    nodes: [{ name: "n1", labels: { healthy: "yes" } }],
    address: "127.0.0.1",
    registered: registered.resolve,
  });
  await Promise.race([registered.promise, nodes]);
  await createHealthy(admin());
  const scheduler = await startScheduler({ ...common, client: client("scheduler"), newId: randomUUID });
  const controllers = await startControllers({ ...common, client: client("controllers"), rootCA: "" });
  try {
    let seen: Pod | undefined;
    const what = (): string =>
      `the healthy pod runs: ${JSON.stringify(seen?.status)}\n${[...faults.values()].join("\n")}`;
    await eventually(
      what,
      async () => {
        seen = await admin().resource(Pod).get({ namespace: "default", name: "p" });
        return seen.status?.phase === "Running";
      },
      20_000,
    );
  } finally {
    stop.abort();
    await Promise.all([nodes, scheduler.stopped, controllers.stopped]);
  }
  return [...faults.values()];
}

test("scheduler, controllers and nodes go on whatever objects have in their fields", async () => {
  const seed = seedOr(20260728);
  const all: string[] = [];
  for (let round = 0; round < rounds; round++)
    await withApiServer({ disabledAdmissionPlugins: ["ServiceAccount"] }, async (server) => {
      const faults = await faultsOf(server, seed + round);
      all.push(...faults.map((fault) => `DRAY_SEED=${seed + round} ${fault}`));
    });
  assert.deepEqual(all, []);
});
