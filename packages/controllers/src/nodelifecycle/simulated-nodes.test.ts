import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "@dray/api/core/v1";
import { silentLog } from "@dray/client";
import { startNodeLifecycleController } from "@dray/controllers";
import { runSimulatedNodes } from "@dray/kubelet/simulated";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const count = 20;

/** Simulates nodes until the function that it returns is called. */
function simulate(cluster: TestCluster): () => Promise<void> {
  const stop = new AbortController();
  const done = runSimulatedNodes({
    client: cluster.connect("simulated", "system:masters"),
    clock: cluster.clock,
    log: silentLog,
    random: () => 0.5,
    features: cluster.context.features,
    nodes: Array.from({ length: count }, (_, i) => ({ name: `s-${i}` })),
    address: "127.0.0.1",
    signal: stop.signal,
  });
  return async () => {
    stop.abort();
    await done;
  };
}

async function states(cluster: TestCluster): Promise<string[]> {
  const nodes = await cluster.list(Node);
  const state = ({ spec, status }: Node): string => {
    const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status;
    return [ready, ...(spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).sort()].join(" ");
  };
  return [...new Set(nodes.map(state))];
}

const pass = ({ clock }: TestCluster, seconds: number): Promise<void> =>
  clock.advanceInSteps(seconds * 1000, 1000);

test("the node lifecycle controller sees simulated nodes live, gives them up without their process, and has them back", () =>
  withCluster(startNodeLifecycleController, async (cluster) => {
    const all = (wanted: string) => async () => {
      const nodes = await cluster.list(Node);
      return nodes.length === count && (await states(cluster)).join() === wanted;
    };
    const stop = simulate(cluster);
    await cluster.until("all nodes are ready", all("True"));
    for (let minute = 0; minute < 3; minute++) {
      await pass(cluster, 60);
      assert.deepEqual(await states(cluster), ["True"], "renewals every 40 s are enough");
    }
    await stop();
    await pass(cluster, 55);
    // No node is left: nothing is evicted.
    const lost = "Unknown node.kubernetes.io/unreachable:NoSchedule";
    await cluster.until("all nodes are given up", all(lost));
    const end = simulate(cluster);
    await cluster.until("all nodes are back", all("True"));
    await end();
  }));
