import { test } from "node:test";
import { ClusterRole } from "@dray/api/rbac/v1";
import { startClusterRoleAggregation } from "@dray/controllers";
import { withCluster } from "../testing/cluster.ts";

test("cluster roles have the rules of those that they select, as these come and go", () =>
  withCluster(startClusterRoleAggregation, async (cluster) => {
    const rule = { apiGroups: ["example.com"], resources: ["widgets"], verbs: ["get"] };
    await cluster.create(ClusterRole, {
      metadata: { name: "all" },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: "yes" } }] },
    });
    const resources = async (): Promise<string> =>
      ((await cluster.get(ClusterRole, "all")).rules ?? []).flatMap((each) => each.resources ?? []).join();
    await cluster.create(ClusterRole, { metadata: { name: "b", labels: { part: "yes" } }, rules: [rule] });
    await cluster.create(ClusterRole, {
      metadata: { name: "a", labels: { part: "yes" } },
      rules: [rule, { ...rule, resources: ["gears"] }],
    });
    await cluster.until("both", async () => (await resources()) === "widgets,gears");
    await cluster.client.resource(ClusterRole).delete({ name: "a" });
    await cluster.until("one", async () => (await resources()) === "widgets");
  }));
