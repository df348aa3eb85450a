import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace, Node, Pod } from "@dray/api/core/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const asks = (requests: object, more: object = {}): object => ({
  containers: [{ name: "c", image: "i", resources: { requests, limits: requests } }],
  ...more,
});

const tail = (nodes: number, reasons: string): string =>
  `preemption: 0/${nodes} nodes are available: ${reasons}.`;
const notHelpful = "Preemption is not helpful for scheduling";
const noVictims = "No preemption victims found for incoming pod";

async function onNodes(names: string[], run: (cluster: TestCluster) => Promise<void>): Promise<void> {
  await withCluster(async (cluster) => {
    for (const name of names) await cluster.node(name);
    await cluster.scheduler();
    await run(cluster);
  });
}

test("pods spread over empty nodes, and the event says where", () =>
  onNodes(["n1", "n2", "n3"], async (cluster) => {
    const nodes = new Set<string>();
    for (const name of ["a", "b", "c"]) {
      await cluster.pod(name, asks({ cpu: "1", memory: "1Gi" }));
      nodes.add(await cluster.bound(name));
    }
    assert.deepEqual([...nodes].sort(), ["n1", "n2", "n3"]);
    const { spec } = await cluster.get(Pod, "a");
    await cluster.until("the event", async () =>
      (await cluster.events()).includes(`Normal Scheduled Successfully assigned d/a to ${spec.nodeName}`),
    );
  }));

test("a pod for another scheduler is left alone", () =>
  onNodes(["n1"], async (cluster) => {
    await cluster.pod("theirs", { schedulerName: "other" });
    await cluster.pod("ours");
    await cluster.bound("ours");
    assert.equal((await cluster.get(Pod, "theirs")).spec.nodeName, undefined);
  }));

test("without room a pod waits with a reason, and goes when a pod goes", () =>
  onNodes(["n1"], async (cluster) => {
    await cluster.pod("first", asks({ cpu: "3" }));
    await cluster.bound("first");
    await cluster.pod("second", asks({ cpu: "2" }));
    const message = `0/1 nodes are available: 1 Insufficient cpu. ${tail(1, `1 ${noVictims}`)}`;
    assert.equal(await cluster.refused("second"), message);
    await cluster.until("the event", async () =>
      (await cluster.events()).includes(`Warning FailedScheduling ${message}`),
    );
    await cluster.remove("first");
    assert.equal(await cluster.bound("second"), "n1");
  }));

test("a pod with resources that no node has waits with the reason until a node has them", () =>
  onNodes(["n1"], async (cluster) => {
    await cluster.pod("p", asks({ cpu: "5", "example.com/thing": "1" }));
    assert.equal(
      await cluster.refused("p"),
      `0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient example.com/thing. ${tail(1, `1 ${notHelpful}`)}`,
    );
    await cluster.node("n2", { allocatable: { cpu: "8", "example.com/thing": "1" } });
    assert.equal(await cluster.bound("p"), "n2");
  }));

test("a pod without any node waits for one", () =>
  onNodes([], async (cluster) => {
    await cluster.pod("p");
    assert.equal(await cluster.refused("p"), "no nodes available to schedule pods");
    await cluster.node("n1");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("taints, cordons, selectors and affinity rule nodes out, each with its reason", () =>
  withCluster(async (cluster) => {
    await cluster.node("tainted", { spec: { taints: [{ key: "k", value: "v", effect: "NoSchedule" }] } });
    await cluster.node("cordoned", { spec: { unschedulable: true } });
    await cluster.node("east", { labels: { zone: "east" } });
    await cluster.scheduler();
    const zone = (value: string): object => ({ nodeSelector: { zone: value } });
    await cluster.pod("west", zone("west"));
    assert.equal(
      await cluster.refused("west"),
      "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, " +
        `1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. ${tail(3, `3 ${notHelpful}`)}`,
    );
    await cluster.pod("east", zone("east"));
    assert.equal(await cluster.bound("east"), "east");
    await cluster.pod("named", {
      tolerations: [{ key: "k", operator: "Exists" }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchFields: [{ key: "metadata.name", operator: "In", values: ["tainted"] }] },
            ],
          },
        },
      },
    });
    assert.equal(await cluster.bound("named"), "tainted");
    // The label comes, and with it the pod that waits for it.
    await cluster.client.resource(Node).patch({ name: "cordoned" }, "merge", {
      metadata: { labels: { zone: "west" } },
      spec: { unschedulable: null, taints: null },
    });
    assert.equal(await cluster.bound("west"), "cordoned");
  }));

test("host ports are given once a node", () =>
  onNodes(["n1"], async (cluster) => {
    const port = (name: string): Promise<Pod> =>
      cluster.pod(name, {
        containers: [{ name: "c", image: "i", ports: [{ containerPort: 80, hostPort: 80 }] }],
      });
    await port("a");
    await cluster.bound("a");
    await port("b");
    assert.match(
      await cluster.refused("b"),
      /1 node\(s\) didn't have free ports for the requested pod ports/,
    );
    await cluster.remove("a");
    assert.equal(await cluster.bound("b"), "n1");
  }));

test("pods keep others away by anti-affinity, in both directions", () =>
  onNodes(["n1", "n2"], async (cluster) => {
    const apart = {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "db" } } },
          ],
        },
      },
    };
    await cluster.pod("a", apart, { app: "db" });
    await cluster.pod("b", apart, { app: "db" });
    assert.notEqual(await cluster.bound("a"), await cluster.bound("b"));
    await cluster.pod("c", apart, { app: "db" });
    assert.match(await cluster.refused("c"), /2 node\(s\) didn't match pod anti-affinity rules/);
    await cluster.pod("plain", {}, { app: "db" });
    assert.match(
      await cluster.refused("plain"),
      /2 node\(s\) didn't satisfy existing pods anti-affinity rules/,
    );
    const freed = await cluster.bound("a");
    await cluster.remove("a");
    assert.equal(await Promise.any([cluster.bound("c"), cluster.bound("plain")]), freed);
  }));

test("a term may name the namespaces of the other pods by their labels", () =>
  onNodes(["n1", "n2"], async (cluster) => {
    const { create } = cluster;
    for (const [name, team] of [
      ["e1", "red"],
      ["e2", "blue"],
    ]) {
      await create(Namespace, { metadata: { name, labels: { team } }, spec: {} });
      const spec = { containers: [{ name: "c", image: "i" }], nodeName: name === "e1" ? "n1" : "n2" };
      await create(Pod, { metadata: { name: "db", namespace: name, labels: { app: "db" } }, spec });
    }
    for (const [team, node] of [
      ["red", "n2"],
      ["blue", "n1"],
    ] as const) {
      await cluster.pod(team, {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: "kubernetes.io/hostname",
                labelSelector: { matchLabels: { app: "db" } },
                namespaceSelector: { matchLabels: { team } },
              },
            ],
          },
        },
      });
      assert.equal(await cluster.bound(team), node);
    }
  }));

test("the highest priority goes first, and among equals the one that waits longest", () =>
  withCluster(async (cluster) => {
    await cluster.node("n1");
    const filler = (name: string, more: object = {}): Promise<Pod> =>
      cluster.pod(name, asks({ cpu: "3" }, more));
    await filler("y-first");
    await cluster.scheduler();
    await cluster.bound("y-first");
    for (const name of ["x-low", "a-low"]) {
      await filler(name);
      await cluster.refused(name);
      cluster.clock.advance(10_000);
    }
    await cluster.create(PriorityClass, {
      metadata: { name: "high" },
      value: 100,
      preemptionPolicy: "Never",
    });
    await filler("z-high", { priorityClassName: "high" });
    await cluster.refused("z-high");
    cluster.clock.advance(10_000);
    // All three are out of their back-off, and wake at once.
    await cluster.remove("y-first");
    assert.equal(await cluster.bound("z-high"), "n1");
    cluster.clock.advance(10_000);
    await cluster.remove("z-high");
    assert.equal(await cluster.bound("x-low"), "n1");
    assert.equal((await cluster.get(Pod, "a-low")).spec.nodeName, undefined);
  }));

test("scheduling gates hold a pod until the last is gone", () =>
  onNodes(["n1"], async (cluster) => {
    await cluster.pod("p", { schedulingGates: [{ name: "a" }, { name: "b" }] });
    const open = (gates: object[]): Promise<Pod> =>
      cluster.client
        .resource(Pod)
        .patch({ namespace: "d", name: "p" }, "merge", { spec: { schedulingGates: gates } });
    await cluster.settle();
    await open([{ name: "b" }]);
    await cluster.settle();
    assert.equal((await cluster.get(Pod, "p")).spec.nodeName, undefined);
    assert.deepEqual(await cluster.events(), []);
    await open([]);
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("a pod that is made anew under its name is scheduled anew", () =>
  onNodes(["n1"], async (cluster) => {
    await cluster.pod("p", asks({ cpu: "9" }));
    await cluster.refused("p");
    await cluster.remove("p");
    await cluster.pod("p", asks({ cpu: "1" }));
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("the room on a node that comes back is what its pods leave", () =>
  onNodes(["n1"], async (cluster) => {
    await cluster.pod("stays", asks({ cpu: "3" }));
    await cluster.bound("stays");
    await cluster.client.resource(Node).delete({ name: "n1" });
    await cluster.node("n1");
    await cluster.pod("p", asks({ cpu: "2" }));
    assert.match(await cluster.refused("p"), /Insufficient cpu/);
    await cluster.remove("stays");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("a binding whose answer is lost counts", () =>
  withCluster(async (cluster) => {
    await cluster.node("n1");
    const { loseAnswers } = await cluster.scheduler();
    let lost = 0;
    loseAnswers((method, url) => method === "POST" && url.includes("/binding") && lost++ === 0);
    await cluster.pod("p");
    assert.equal(await cluster.bound("p"), "n1");
    await cluster.until("the event", async () =>
      (await cluster.events()).includes("Normal Scheduled Successfully assigned d/p to n1"),
    );
    assert.equal(lost, 2);
    assert.deepEqual(
      (await cluster.events()).filter((event) => event.startsWith("Warning")),
      [],
    );
  }));
