import assert from "node:assert/strict";
import { test } from "node:test";
import { Event, Node } from "@dray/api/core/v1";
import type { NodeInfo } from "../framework/node-info.ts";
import type { Plugin } from "../index.ts";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

/** Stands for a reader that does not expect the value of a label. */
function read({ node }: NodeInfo): void {
  const value: string | null = node.metadata.labels?.["odd"] === "yes" ? null : "";
  // @ts-expect-error The exception is wanted.
  value.trim();
}

const readers: Readonly<Record<string, Partial<Plugin>>> = {
  PreFilter: {
    preFilter(_state, _pod, nodes) {
      nodes.forEach(read);
      return { type: "continue" };
    },
  },
  Filter: {
    filter(_state, _pod, node) {
      read(node);
      return undefined;
    },
  },
  Score: {
    score(_state, _pod, node) {
      read(node);
      return 0;
    },
  },
};

const reason = "node(s) with an object that the scheduler cannot read";
const error = "Cannot read properties of null (reading 'trim')";

/** Events of nodes are in namespace default. */
async function leftOut({ client }: TestCluster): Promise<number> {
  const { items } = await client.resource(Event).list({ namespace: "default" });
  return items.filter((event) => event.reason === "NodeLeftOut" && event.message?.includes(error)).length;
}

for (const [point, reader] of Object.entries(readers))
  test(`a node that ${point} cannot read is left out, with a reason, until it has changed`, () =>
    withCluster(async (cluster) => {
      for (const name of ["a", "b", "c"])
        await cluster.node(name, { labels: name === "b" ? { odd: "yes" } : {} });
      const plugins = (): readonly Plugin[] => [{ name: "Reader", mayHelp: () => true, ...reader }];
      await cluster.scheduler(undefined, { plugins });
      const at = (node: string): object => ({ nodeSelector: { "kubernetes.io/hostname": node } });
      const nodes = new Set<string>();
      for (let i = 0; i < 4; i++) {
        await cluster.pod(`p${i}`);
        nodes.add(await cluster.bound(`p${i}`));
      }
      assert.equal(nodes.has("b"), false);
      await cluster.until("the event of the node", async () => (await leftOut(cluster)) > 0);
      await cluster.pod("there", at("b"));
      const message = await cluster.refused("there");
      assert.ok(message.startsWith("0/3 nodes are available: "), message);
      assert.ok(message.includes(`1 ${reason} (${error})`), message);
      await cluster.client
        .resource(Node)
        .patch({ name: "b" }, "merge", { metadata: { labels: { odd: null } } });
      assert.equal(await cluster.bound("there"), "b");
      assert.equal(await leftOut(cluster), 1);
      assert.equal(cluster.problems.splice(0).length, 1);
    }));
