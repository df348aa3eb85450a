import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf, type KubeObject } from "@dray/api";
import { Namespace, Node, Pod } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import {
  createOfflineScheduler,
  ignoredParts,
  type OfflineObject,
  type OfflineScheduler,
  parseSchedulerConfiguration,
} from "@dray/scheduler";
import { partial } from "@dray/testing/partial";
import { devicesOf, uses, withCluster } from "../testing/cluster.ts";

function offline(objects: readonly KubeObject[]): OfflineScheduler {
  let shares = 0;
  const newId = (): string => `00000000-0000-4000-8000-${String(shares++).padStart(12, "0")}`;
  const scheduler = createOfflineScheduler({ features: featuresOf(), newId, now: () => 0 });
  for (const object of objects) scheduler.add(object as OfflineObject);
  return scheduler;
}

const metadata = (name: string, namespace?: string): object => ({
  name,
  ...(namespace && { namespace }),
  uid: `uid-${name}`,
  resourceVersion: "1",
});

const node = (name: string, cpu = "4"): Node =>
  partial<Node>({
    kind: "Node",
    metadata: metadata(name),
    spec: {},
    status: { allocatable: { cpu, memory: "8Gi" } },
  });

const pod = (name: string, cpu: string, more: object = {}): Pod =>
  partial<Pod>({
    kind: "Pod",
    metadata: metadata(name, "d"),
    spec: { containers: [{ name: "c", resources: { requests: { cpu } } }], ...more },
  });

test("an offline scheduler has the same nodes, devices and messages as a running one", async () => {
  await withCluster(async (cluster) => {
    // No two nodes are equally good for any of the pods: where they are, the running one takes any.
    for (const [name, cpu] of [
      ["a", "5"],
      ["b", "11"],
      ["c", "23"],
    ] as const) {
      await cluster.node(name, { allocatable: { cpu, memory: "64Gi" } });
      await cluster.slice(name, 2);
    }
    await cluster.gpuClass();
    const cpus = ["1", "2", "1500m", "3", "700m", "2500m", "4", "900m"];
    for (const [i, cpu] of cpus.entries()) {
      await cluster.claim(`claim-${i}`, { exactly: { deviceClassName: "gpu", count: i === 3 ? 2 : 1 } });
      const containers = [{ name: "c", image: "i", resources: { requests: { cpu } } }];
      await cluster.pod(`pod-${i}`, { ...uses(`claim-${i}`), containers });
    }
    const kinds = [Namespace, Node, DeviceClass, ResourceSlice, ResourceClaim];
    const lists = await Promise.all(kinds.map((kind) => cluster.list<KubeObject>(kind)));
    const planner = offline(
      lists.flatMap((list, i) => list.map((object) => ({ ...object, kind: kinds[i]!.kind }))),
    );
    const expected = new Map<string, string>();
    for (const each of await cluster.list(Pod)) {
      const placement = await planner.schedule(each);
      const devices = devicesOf(planner.claim("d", each.metadata.name.replace("pod", "claim"))!);
      const outcome =
        placement.type === "placed" ? placement.node : placement.type === "refused" ? placement.message : "";
      expected.set(each.metadata.name, `${outcome} ${devices}`);
    }
    const { stop } = await cluster.scheduler();
    for (const [name, outcome] of expected) {
      const claim = name.replace("pod", "claim");
      if (outcome.startsWith("0/3 ")) {
        assert.ok((await cluster.refused(name)).startsWith(outcome.trimEnd()), name);
      } else {
        const found = await cluster.bound(name);
        assert.equal(`${found} ${devicesOf(await cluster.get(ResourceClaim, claim))}`, outcome, name);
      }
    }
    assert.equal([...expected.values()].filter((outcome) => outcome.startsWith("0/3 ")).length, 3);
    await stop();
  });
});

test("of equally good nodes the first by name is taken, whatever the order in which they came", async () => {
  const scheduler = offline([node("c"), node("a"), node("b")]);
  const nodes = [];
  for (const name of ["1", "2", "3", "4"]) {
    const placement = await scheduler.schedule(pod(name, "1"));
    nodes.push(placement.type === "placed" && placement.node);
  }
  assert.deepEqual(nodes, ["a", "b", "c", "a"]);
});

test("every node is looked at, however many there are", async () => {
  const many = Array.from({ length: 300 }, (_, i) => node(`n${String(i).padStart(3, "0")}`, "4"));
  const scheduler = offline([...many, node("z", "64")]);
  const placement = await scheduler.schedule(pod("p", "2"));
  assert.deepEqual(placement, { type: "placed", node: "z" });
});

test("a node that comes later takes what no other took, and what is refused changes nothing", async () => {
  const scheduler = offline([node("a")]);
  const first = await scheduler.schedule(pod("p", "6"));
  assert.equal(first.type, "refused");
  if (first.type === "refused") {
    assert.equal(first.message, "0/1 nodes are available: 1 Insufficient cpu.");
    assert.deepEqual([...first.rejections.keys()], ["a"]);
  }
  scheduler.add(node("b", "6") as Node);
  assert.deepEqual(await scheduler.schedule(pod("p", "6")), { type: "placed", node: "b" });
  assert.deepEqual(await scheduler.schedule(pod("q", "4")), { type: "placed", node: "a" });
});

test("pods without requests are scored by free resources, others by the balance, too", async () => {
  const onNode = (name: string, nodeName: string, requests: object): Pod => {
    const made = pod(name, "0", { nodeName });
    return { ...made, spec: { ...made.spec, containers: [{ name: "c", resources: { requests } }] } } as Pod;
  };
  const uneven = onNode("u", "z", { cpu: "1600m", memory: "819Mi" });
  const even = onNode("e", "a", { cpu: "1", memory: "2Gi" });
  const asks = (requests: object): Pod => {
    const { nodeName: _, ...spec } = onNode("p", "", requests).spec;
    return { ...pod("p", "0"), spec };
  };
  const nodeFor = async (each: Pod): Promise<unknown> =>
    offline([node("a"), node("z"), uneven, even]).schedule(each);
  assert.deepEqual(await nodeFor(asks({})), { type: "placed", node: "a" });
  assert.deepEqual(await nodeFor(asks({ cpu: "100m", memory: "2Gi" })), { type: "placed", node: "z" });
});

test("a node without allocatable pods takes the kubelet's default", async () => {
  const scheduler = offline([node("a")]);
  for (let i = 0; i < 110; i++) assert.equal((await scheduler.schedule(pod(`p${i}`, "0"))).type, "placed");
  const last = await scheduler.schedule(pod("last", "0"));
  assert.equal(last.type === "refused" && last.message, "0/1 nodes are available: 1 Too many pods.");
});

test("a resource that a node does not have is left out of its score", async () => {
  const noMemory = { ...node("z"), status: { allocatable: { cpu: "4" } } };
  const used = pod("used", "1", { nodeName: "a" });
  const scheduler = offline([node("a"), used, noMemory]);
  assert.deepEqual(await scheduler.schedule(pod("p", "1")), { type: "placed", node: "z" });
});

const gpuClass = partial<DeviceClass>({ kind: "DeviceClass", metadata: metadata("gpu"), spec: {} });

const slice = (name: string, devices: number, where: object): ResourceSlice =>
  partial<ResourceSlice>({
    kind: "ResourceSlice",
    metadata: metadata(name),
    spec: {
      driver: "d.example.com",
      pool: { name, generation: 1, resourceSliceCount: 1 },
      devices: Array.from({ length: devices }, (_, i) => ({ name: `d-${i}` })),
      ...where,
    },
  });

const claim = (name: string, count: number): ResourceClaim =>
  partial<ResourceClaim>({
    kind: "ResourceClaim",
    metadata: metadata(name, "d"),
    spec: {
      devices: {
        requests: [{ name: "r", exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count } }],
      },
    },
  });

test("devices that all nodes share run out for pods that are alike, wherever they land", async () => {
  const network = slice("net", 2, { allNodes: true });
  const claims = ["1", "2", "3"].map((name) => claim(`c${name}`, 1));
  const scheduler = offline([node("a"), node("b"), node("c"), gpuClass, network, ...claims]);
  const outcomes = [];
  for (const name of ["1", "2", "3"]) {
    const resourceClaims = [{ name: "r", resourceClaimName: `c${name}` }];
    outcomes.push((await scheduler.schedule(pod(name, "1", { resourceClaims }))).type);
  }
  assert.deepEqual(outcomes, ["placed", "placed", "refused"]);
});

test("equal pods are placed as without memoized results", async () => {
  const nodes = ["a", "b", "c", "d", "e"];
  const avoids = {
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: "host", labelSelector: { matchLabels: { lonely: "true" } } },
        ],
      },
    },
  };
  const kinds: readonly ((index: number) => { pod: Pod; claims: KubeObject[] })[] = [
    (i) => ({ pod: pod(`cpu-${i}`, "500m"), claims: [] }),
    ...[1, 2].map((count) => (i: number) => {
      const resourceClaims = [{ name: "r", resourceClaimName: `claim-${i}` }];
      return { pod: pod(`gpu-${i}`, "100m", { resourceClaims }), claims: [claim(`claim-${i}`, count)] };
    }),
    (i) => {
      const lonely = pod(`lonely-${i}`, "200m", avoids);
      return {
        pod: { ...lonely, metadata: { ...lonely.metadata, labels: { lonely: "true" } } } as Pod,
        claims: [],
      };
    },
  ];
  const pods = Array.from({ length: 60 }, (_, i) => kinds[(i * i + (i >> 2)) % kinds.length]!(i));
  const cluster = [
    ...nodes.map((name, i) => {
      const made = node(name, String(2 + i));
      return { ...made, metadata: { ...made.metadata, labels: { host: name } } } as KubeObject;
    }),
    ...nodes.map((name, i) => slice(name, i + 1, { nodeName: name })),
    gpuClass,
    ...pods.flatMap(({ claims }) => claims),
  ];
  const [remembers, asks] = [offline(cluster), offline(cluster)];
  const outcomes = [];
  for (const { pod: each } of pods) {
    // After a change of the cluster every node is asked again.
    asks.add(partial<Namespace & OfflineObject>({ kind: "Namespace", metadata: metadata("d") }));
    const outcome = await remembers.schedule(each);
    assert.deepEqual(outcome, await asks.schedule(each), each.metadata.name);
    outcomes.push(outcome.type);
  }
  assert.deepEqual([...new Set(outcomes)].toSorted(), ["placed", "refused"]);
});

test("nodes that the pod's affinity does not name count among those that refused it", async () => {
  const matchFields = [{ key: "metadata.name", operator: "In", values: ["b"] }];
  const required = { nodeSelectorTerms: [{ matchFields }] };
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  const scheduler = offline([node("a"), node("b"), node("c")]);
  assert.deepEqual(await scheduler.schedule(pod("p", "1", { affinity })), { type: "placed", node: "b" });
  const refused = await scheduler.schedule(pod("q", "9", { affinity }));
  assert.equal(
    refused.type === "refused" && refused.message,
    "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity].",
  );
});

test("a malformed term of an affinity matches no node, and the pod goes by the others", async () => {
  const term = (values: string[]): object => ({
    matchExpressions: [{ key: "cores", operator: "Gt", values }],
  });
  const affinity = (...nodeSelectorTerms: object[]): object => ({
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
  });
  const big = node("big");
  const scheduler = offline([
    node("small"),
    { ...big, metadata: { ...big.metadata, labels: { cores: "8" } } } as KubeObject,
  ]);
  const outcome = await scheduler.schedule(
    pod("p", "1", { affinity: affinity(term(["many"]), term(["4"])) }),
  );
  assert.deepEqual(outcome, { type: "placed", node: "big" });
  const refused = await scheduler.schedule(pod("q", "1", { affinity: affinity(term(["many"])) }));
  assert.equal(
    refused.type === "refused" && refused.message,
    "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
  );
});

test("all requirements on the name of a node hold together", async () => {
  const named = (...lists: string[][]): object => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          { matchFields: lists.map((values) => ({ key: "metadata.name", operator: "In", values })) },
        ],
      },
    },
  });
  const scheduler = offline([node("a"), node("b")]);
  const outcome = await scheduler.schedule(pod("p", "1", { affinity: named(["b"], ["b"]) }));
  assert.deepEqual(outcome, { type: "placed", node: "b" });
  const refused = await scheduler.schedule(pod("q", "1", { affinity: named(["a"], ["b"]) }));
  assert.equal(
    refused.type === "refused" && refused.message,
    "0/2 nodes are available: pod affinity terms conflict.",
  );
});

test("a preview says the same as a decision, and takes nothing", async () => {
  const scheduler = offline([node("a", "2")]);
  assert.deepEqual(await scheduler.preview(pod("one", "2")), { type: "placed", node: "a" });
  assert.deepEqual(await scheduler.preview(pod("two", "2")), { type: "placed", node: "a" });
  assert.deepEqual(await scheduler.schedule(pod("three", "2")), { type: "placed", node: "a" });
  const placement = await scheduler.preview(pod("four", "2"));
  assert.equal(
    placement.type === "refused" && placement.message,
    "0/1 nodes are available: 1 Insufficient cpu.",
  );
});

test("schedules a claim with numbers beyond 2^53", async () => {
  const toleration = { operator: "Exists", effect: "NoExecute", tolerationSeconds: 2n ** 62n };
  const odd = partial<ResourceClaim>({
    ...claim("odd", 1),
    spec: {
      devices: {
        requests: [
          {
            name: "r",
            exactly: {
              deviceClassName: "gpu",
              allocationMode: "ExactCount",
              count: 1,
              tolerations: [toleration],
            },
          },
        ],
        config: [{ opaque: { driver: "d.example.com", parameters: { serial: 2n ** 62n } } }],
      },
    },
  });
  const scheduler = offline([node("a"), gpuClass, slice("s", 1, { nodeName: "a" }), odd]);
  const resourceClaims = [{ name: "r", resourceClaimName: "odd" }];
  assert.deepEqual(await scheduler.schedule(pod("p", "1", { resourceClaims })), {
    type: "placed",
    node: "a",
  });
});

test("pods are scheduled by the profile of their scheduler, as a configuration has it", async () => {
  const text = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
- schedulerName: packing
  plugins:
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
    filter: {disabled: [{name: NodeUnschedulable}], enabled: [{name: Coscheduling}]}
    bind: {enabled: [{name: OwnBinder}], disabled: [{name: "*"}]}
  pluginConfig:
  - name: Coscheduling
    args: {permitWaitingTimeSeconds: 10}
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
extenders: [{urlPrefix: "http://127.0.0.1:1", managedResources: [{name: example.com/x, ignoredByScheduler: true}]}]
`;
  const configuration = parseSchedulerConfiguration(text, featuresOf());
  assert.deepEqual(ignoredParts(configuration), [
    "plugin Coscheduling of profile default-scheduler",
    "plugin Coscheduling of profile packing",
    "plugin OwnBinder of profile packing",
    "extender http://127.0.0.1:1",
  ]);
  const scheduler = createOfflineScheduler({
    features: featuresOf(),
    newId: () => "",
    now: () => 0,
    configuration,
  });
  const [full, empty, cordoned] = [node("full"), node("empty"), node("cordoned")];
  for (const each of [
    full,
    empty,
    {
      ...cordoned,
      metadata: { ...cordoned.metadata, labels: { cordoned: "yes" } },
      spec: { unschedulable: true },
    },
  ])
    scheduler.add(each);
  scheduler.add(pod("there", "2", { nodeName: "full" }));
  const place = async (name: string, schedulerName: string, more: object = {}): Promise<string> => {
    const result = await scheduler.preview(pod(name, "1", { schedulerName, ...more }));
    return result.type === "placed" ? result.node : result.type;
  };
  assert.equal(await place("p0", "default-scheduler"), "empty");
  assert.equal(await place("p1", "packing"), "full");
  // An unknown scheduler counts as the default one.
  assert.equal(await place("p2", "other"), "empty");
  // Its filter for cordoned nodes is off.
  assert.equal(await place("p3", "packing", { nodeSelector: { cordoned: "yes" } }), "cordoned");
  const asks = pod("p4", "1");
  const { containers } = asks.spec;
  const extended = { ...containers[0]!, resources: { requests: { "example.com/x": "1" } } };
  const ofExtender = { ...asks, spec: { ...asks.spec, containers: [extended] } };
  assert.equal((await scheduler.preview(ofExtender)).type, "placed");
});
