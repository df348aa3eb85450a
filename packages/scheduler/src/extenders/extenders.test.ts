import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import { Binding, Node, Pod } from "@dray/api/core/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { readSchedulerConfiguration, type SchedulerConfiguration } from "@dray/scheduler";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

type Body = Readonly<Record<string, unknown>>;
type Verb = (body: Body) => unknown;

interface ExtenderService {
  readonly url: string;
  /** `verb` and body of the calls, in order. */
  readonly calls: (readonly [string, Body])[];
}

/** An extender on a port of its own; a verb that throws answers 500. */
async function withExtender(
  verbs: Readonly<Record<string, Verb>>,
  run: (service: ExtenderService) => Promise<void>,
): Promise<void> {
  const calls: [string, Body][] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const verb = request.url!.slice("/scheduler/".length);
    calls.push([verb, JSON.parse(text) as Body]);
    try {
      response.end(JSON.stringify(await verbs[verb]!(JSON.parse(text) as Body)));
    } catch {
      response.writeHead(500).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await run({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/scheduler/`, calls });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const configured = (urlPrefix: string, extender: object): SchedulerConfiguration =>
  readSchedulerConfiguration(
    {
      apiVersion: "kubescheduler.config.k8s.io/v1",
      kind: "KubeSchedulerConfiguration",
      extenders: [{ urlPrefix, ...extender }],
    },
    featuresOf(),
  );

async function extended(
  verbs: Readonly<Record<string, Verb>>,
  extender: object,
  run: (cluster: TestCluster, service: ExtenderService) => Promise<void>,
): Promise<void> {
  await withExtender(verbs, (service) =>
    withCluster(async (cluster) => {
      for (const name of ["n1", "n2", "n3"]) await cluster.node(name);
      await cluster.scheduler(undefined, { configuration: configured(service.url, extender) });
      await run(cluster, service);
    }),
  );
}

const asks = (cpu: string, more: object = {}): object => ({
  containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }],
  ...more,
});

test("an extender filters and scores by the names of nodes", () =>
  extended(
    {
      filter: () => ({ NodeNames: ["n1", "n2"], FailedNodes: { n3: "no licence" } }),
      prioritize: () => [
        { Host: "n1", Score: 1 },
        { Host: "n2", Score: 9 },
      ],
    },
    { filterVerb: "filter", prioritizeVerb: "prioritize", weight: 100, nodeCacheCapable: true },
    async (cluster, { calls }) => {
      await cluster.pod("p");
      assert.equal(await cluster.bound("p"), "n2");
      assert.deepEqual(
        calls.map(([verb, body]) => [verb, (body["NodeNames"] as string[]).toSorted()]),
        [
          ["filter", ["n1", "n2", "n3"]],
          ["prioritize", ["n1", "n2"]],
        ],
      );
      assert.equal((calls[0]![1]["Pod"] as Pod).metadata.name, "p");
    },
  ));

test("an extender without a node cache receives whole nodes, and its reasons are reported", () =>
  extended(
    {
      filter: () => ({
        nodes: { items: [] },
        failedNodes: { n1: "no licence", n2: "no licence" },
        failedAndUnresolvableNodes: { n3: "unknown node" },
      }),
    },
    { filterVerb: "filter" },
    async (cluster, { calls }) => {
      await cluster.pod("p");
      assert.match(
        await cluster.refused("p"),
        /^0\/3 nodes are available: 1 unknown node, 2 no licence\. .*preemption: 0\/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod\.$/,
      );
      const { items } = calls[0]![1]["Nodes"] as { items: { metadata: { name: string } }[] };
      assert.deepEqual(items.map(({ metadata }) => metadata.name).sort(), ["n1", "n2", "n3"]);
    },
  ));

test("a failing extender is an error, unless it may be ignored", async () => {
  const failing: Readonly<Record<string, Verb>> = {
    filter: () => {
      throw new Error();
    },
  };
  await extended(failing, { filterVerb: "filter" }, async (cluster, { url }) => {
    await cluster.pod("p");
    assert.equal(
      await cluster.refused("p", "SchedulerError"),
      `failed filter with extender at URL ${url}filter, code 500`,
    );
  });
  await extended(failing, { filterVerb: "filter", ignorable: true }, async (cluster) => {
    await cluster.pod("p");
    await cluster.bound("p");
  });
});

test("an extender that does not answer in time is an error", () =>
  extended(
    { filter: () => new Promise(() => {}) },
    { filterVerb: "filter", httpTimeout: "20ms" },
    async (cluster) => {
      await cluster.pod("p");
      assert.match(
        await cluster.refused("p", "SchedulerError"),
        /failed filter .*: no answer within 0\.02s$/,
      );
    },
  ));

test("an extender is asked only about pods with a resource that it manages, which only it counts", () =>
  extended(
    { filter: () => ({ NodeNames: ["n3"] }) },
    {
      filterVerb: "filter",
      nodeCacheCapable: true,
      managedResources: [{ name: "example.com/fpga", ignoredByScheduler: true }],
    },
    async (cluster, { calls }) => {
      await cluster.pod("other");
      await cluster.bound("other");
      assert.equal(calls.length, 0);
      const resources = { limits: { "example.com/fpga": "1" }, requests: { "example.com/fpga": "1" } };
      await cluster.pod("p", { containers: [{ name: "c", image: "i", resources }] });
      assert.equal(await cluster.bound("p"), "n3");
    },
  ));

test("an extender binds", async () => {
  let cluster: TestCluster | undefined;
  const bind: Verb = async ({ PodName, PodNamespace, PodUID, Node }) => {
    const ref = { name: PodName as string, namespace: PodNamespace as string };
    const binding = {
      apiVersion: "v1",
      kind: Binding.kind,
      metadata: { ...ref, uid: PodUID },
      target: { kind: "Node", name: Node },
    };
    await cluster!.client.resource(Pod).post(ref, "binding", binding);
    return {};
  };
  await extended({ bind }, { bindVerb: "bind" }, async (running, { calls }) => {
    cluster = running;
    await cluster.pod("p");
    const node = await cluster.bound("p");
    assert.deepEqual([calls.length, calls[0]![1]["Node"]], [1, node]);
    await cluster.until("the event", async () =>
      (await running.events()).includes(`Normal Scheduled Successfully assigned d/p to ${node}`),
    );
  });
});

test("an extender may restrict the nodes of preemption", () =>
  extended(
    {
      preempt: ({ NodeNameToMetaVictims }) => {
        const victims = NodeNameToMetaVictims as Record<string, unknown>;
        return { NodeNameToMetaVictims: { n2: victims["n2"] } };
      },
    },
    { preemptVerb: "preempt", nodeCacheCapable: true },
    async (cluster, { calls }) => {
      await cluster.create(PriorityClass, { metadata: { name: "high" }, value: 100 });
      for (const name of ["a", "b", "c"]) {
        await cluster.pod(name, asks("3"));
        await cluster.bound(name);
      }
      await cluster.pod("preemptor", asks("3", { priorityClassName: "high" }));
      assert.match(await cluster.refused("preemptor"), /on node n2, preempting 1 victims$/);
      assert.deepEqual(Object.keys(calls[0]![1]["NodeNameToMetaVictims"] as object).sort(), [
        "n1",
        "n2",
        "n3",
      ]);
      const gone = await cluster.until("a victim goes", async () =>
        (await cluster.list(Pod)).find(({ metadata }) => metadata.deletionTimestamp !== undefined),
      );
      assert.equal(gone.spec.nodeName, "n2");
    },
  ));

test("a node that is cordoned during the call of an extender is not feasible", async () => {
  let cluster: TestCluster | undefined;
  const filter: Verb = async ({ NodeNames }) => {
    await cluster!.client.resource(Node).patch({ name: "n1" }, "merge", { spec: { unschedulable: true } });
    await cluster!.settle();
    return { NodeNames };
  };
  await withExtender({ filter }, ({ url }) =>
    withCluster(async (running) => {
      cluster = running;
      await running.node("n1");
      const configuration = configured(url, { filterVerb: "filter", nodeCacheCapable: true });
      await running.scheduler(undefined, { configuration });
      await running.pod("p");
      assert.match(await running.refused("p"), /^0\/1 nodes are available: 1 node\(s\) were unschedulable\./);
    }),
  );
});
