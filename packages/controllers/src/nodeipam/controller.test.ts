import assert from "node:assert/strict";
import { test } from "node:test";
import { Event, Node } from "@dray/api/core/v1";
import { type ControllerContext, nodePools, startNodeIpam } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const start = (context: ControllerContext): ReturnType<typeof startNodeIpam> =>
  startNodeIpam(context, {
    clusterCIDRs: ["10.244.0.0/22", "fd00:10::/48"],
    serviceCIDRs: ["10.244.1.0/24"],
  });

const cidrsOf = (cluster: TestCluster, name: string): Promise<readonly string[]> =>
  cluster.until(
    `networks of ${name}`,
    async () => (await cluster.get(Node, name)).spec?.podCIDRs ?? undefined,
  );

test("each node gets a CIDR of each family; the CIDRs of a deleted node are reused", () =>
  withCluster(start, async (cluster) => {
    await cluster.node("a");
    assert.deepEqual(await cidrsOf(cluster, "a"), ["10.244.0.0/24", "fd00:10::/64"]);
    assert.equal((await cluster.get(Node, "a")).spec?.podCIDR, "10.244.0.0/24");
    await cluster.node("b", { spec: { podCIDR: "10.244.2.0/24", podCIDRs: ["10.244.2.0/24"] } });
    await cluster.node("c");
    assert.deepEqual((await cidrsOf(cluster, "c"))[0], "10.244.3.0/24", "neither Services' nor b's");
    await cluster.node("d");
    await cluster.until("event", async () => {
      const events = await cluster.list(Event, "default");
      return events.some(({ reason }) => reason === "CIDRNotAvailable");
    });
    await cluster.client.resource(Node).delete({ name: "b" });
    assert.equal((await cidrsOf(cluster, "d"))[0], "10.244.2.0/24");
  }));

test("a node that came while the controller was down gets an unused CIDR", () =>
  withCluster(start, async (cluster) => {
    await cluster.node("a");
    await cidrsOf(cluster, "a");
    await cluster.restart(async () => void (await cluster.node("b")), start);
    assert.notEqual((await cidrsOf(cluster, "b"))[0], "10.244.0.0/24");
  }));

test("rejects invalid cluster CIDRs and names valid ones", () => {
  const refused = (clusterCIDRs: string[], message: RegExp, maskSizes = {}): void =>
    assert.throws(() => nodePools({ clusterCIDRs, maskSizes }), message);
  refused(["10.0.0.0"], /10\.0\.0\.0 is not a network/);
  refused(["10.0.0.0/28"], /nodes cannot get a \/24 of 10\.0\.0\.0\/28: use a prefix length from 28 to 32/);
  refused(["10.0.0.0/7"], /from 7 to 23/);
  refused(["10.0.0.0/16", "10.1.0.0/16"], /are of one family/);
});
