import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { faultLog } from "@dray/testing/log";
import { oddTransport } from "@dray/testing/odd-transport";
import { seedOr } from "@dray/testing/random";
import { podBecomes, podOn, testCluster } from "../testing/cluster.ts";

const rounds = 3;

async function faultsOf(seed: number): Promise<readonly string[]> {
  const { log, faults } = faultLog();
  const fixed = { "core/v1.PodSpec.nodeName": "n1" };
  const cluster = await testCluster({}, (transport) => oddTransport(transport, seed, fixed));
  try {
    const ref = { namespace: "default", name: "default" };
    await cluster.admin.resource(ServiceAccount).create({ metadata: ref });
    await cluster.node("n1", { log });
    const containers = [{ name: "c", command: ["sleep", "60"] }];
    await cluster.admin.resource(Pod).create(podOn("n1", "healthy", { containers }));
    await podBecomes(
      cluster.admin,
      { namespace: "default", name: "healthy" },
      ({ status }) => status?.containerStatuses?.[0]?.state?.running !== undefined,
    );
  } finally {
    await cluster.close();
  }
  return [...faults.values()];
}

test("the agent runs its pods whatever other pods have in their fields", async () => {
  const seed = seedOr(20260728);
  const all: string[] = [];
  for (let round = 0; round < rounds; round++)
    for (const fault of await faultsOf(seed + round)) all.push(`DRAY_SEED=${seed + round} ${fault}`);
  assert.deepEqual(all, []);
});
