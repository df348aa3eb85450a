import assert from "node:assert/strict";
import { test } from "node:test";
import {
  allocation,
  claim,
  gpuClass,
  type Manifest,
  node,
  plain,
  planFile,
  planned,
  pod,
  slice,
  template,
  usesClaim,
  usesTemplate,
} from "./testing.ts";

const cluster = [node("n1"), slice("n1", 2), gpuClass, template("t")];
const pods = (count: number): Manifest[] =>
  Array.from({ length: count }, (_, i) => pod(`p${i}`, usesTemplate("t")));

test("copies of a node come with its slices, under names of their own", async () => {
  const { data, devices, code } = await planned([...cluster, ...pods(5)], "--add-nodes", "2", "--like", "n1");
  assert.equal(code, 0);
  assert.equal(data.summary.nodes, 3);
  assert.deepEqual(data.summary.addedNodes, { like: "n1", count: 2 });
  assert.deepEqual(Object.values(devices).flat().toSorted(), [
    "n1-copy-1/gpu-0",
    "n1-copy-1/gpu-1",
    "n1-copy-2/gpu-0",
    "n1/gpu-0",
    "n1/gpu-1",
  ]);
  for (const { node, claims } of data.pods) {
    const selector = JSON.stringify(claims[0]?.allocation);
    assert.match(selector, new RegExp(`"metadata.name","operator":"In","values":\\["${node}"\\]`));
  }
});

test("a copy is empty, ready, and has its own host name; other taints of the node stay", async () => {
  const like = node("n1", {
    spec: {
      unschedulable: true,
      taints: [
        { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
        { key: "example.com/gpu", effect: "NoSchedule" },
      ],
    },
  });
  const tolerations = [{ key: "example.com/gpu", operator: "Exists" }];
  const onHost = { nodeSelector: { "kubernetes.io/hostname": "n1-copy-1" }, tolerations };
  const full = { requests: { cpu: "8" } };
  const { nodes } = await planned(
    [
      like,
      pod("there", plain({ nodeName: "n1" }, full)),
      pod("tolerant", plain(onHost, full)),
      pod("intolerant", plain({})),
    ],
    "--add-nodes",
    "1",
    "--like",
    "n1",
  );
  assert.deepEqual(nodes, { there: "n1", tolerant: "n1-copy-1", intolerant: null });
});

test("a pool that a node shares with others is copied with the part that the node has", async () => {
  const part = (name: string, generation = 2): object => ({
    name: "fabric",
    generation,
    resourceSliceCount: name === "old" ? 1 : 2,
  });
  const { devices } = await planned(
    [
      node("n1"),
      node("n2"),
      slice("n1", [{ name: "a" }], part("n1")),
      slice("n2", [{ name: "b" }], part("n2")),
      slice("n1", 4, part("old", 1), "old"),
      gpuClass,
      template("t"),
      ...pods(3),
    ],
    "--add-nodes",
    "1",
    "--like",
    "n1",
  );
  assert.deepEqual(Object.values(devices).flat().toSorted(), ["fabric-n1-copy-1/a", "fabric/a", "fabric/b"]);
});

test("auto finds the smallest number of nodes with which all pods fit", async () => {
  const objects = [...cluster, ...pods(9)];
  const auto = await planned(objects, "--add-nodes", "auto", "--like", "n1");
  assert.deepEqual(auto.data.summary.addedNodes, {
    like: "n1",
    count: 4,
    fewest: { count: 4, isProven: true },
    notHelped: [],
  });
  assert.deepEqual([auto.code, auto.data.summary.unplaced], [0, 0]);
  const [enough, fewer] = await Promise.all(
    ["4", "3"].map((count) => planned(objects, "--add-nodes", count, "--like", "n1")),
  );
  assert.deepEqual([enough?.code, fewer?.code], [0, 1]);
  assert.deepEqual(enough?.nodes, auto.nodes);
});

test("auto lists the pods that added nodes do not help, and why", async () => {
  const objects = [
    ...cluster,
    ...pods(3),
    claim("huge", { count: 3 }),
    pod("huge", usesClaim("huge")),
    pod("elsewhere", plain({ nodeSelector: { zone: "b" } })),
  ];
  const [{ data, code }, text] = await Promise.all([
    planned(objects, "--add-nodes", "auto"),
    planFile(objects, "--add-nodes", "auto"),
  ]);
  assert.equal(code, 1);
  const { addedNodes } = data.summary;
  assert.equal(addedNodes?.count, 1);
  assert.deepEqual(
    addedNodes?.notHelped?.map(({ pod, reason }) => [pod, reason]),
    [
      ["default/huge", "cannot allocate all claims"],
      ["default/elsewhere", "node(s) didn't match Pod's node affinity/selector"],
    ],
  );
  assert.match(text.stdout, /\n1 more node like n1 is needed, and added here\n/);
  assert.match(
    text.stdout,
    /\nno node like n1 helps default\/huge: not even an empty one takes it: cannot allocate all claims\n/,
  );
});

test("auto where nothing is missing, and where nothing helps", async () => {
  const [enough, hopeless] = await Promise.all([
    planFile([...cluster, ...pods(2)], "--add-nodes", "auto"),
    planFile([...cluster, pod("p", plain({}, { requests: { cpu: "9" } }))], "--add-nodes", "auto"),
  ]);
  assert.equal(enough.code, 0);
  assert.match(enough.stdout, /\nno more nodes are needed\n$/);
  assert.equal(hopeless.code, 1);
  assert.match(hopeless.stdout, /\nmore nodes like n1 do not help\n/);
});

test("the daemons of new nodes take their room first", async () => {
  const daemon = {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent" },
    spec: {
      selector: { matchLabels: { app: "agent" } },
      template: { metadata: { labels: { app: "agent" } }, spec: plain({}, { requests: { cpu: "3" } }) },
    },
  };
  const workers = Array.from({ length: 3 }, (_, i) => pod(`w${i}`, plain({}, { requests: { cpu: "3" } })));
  const { data, nodes } = await planned([node("n1"), daemon, ...workers], "--add-nodes", "auto");
  // 8 cpus: the agent and one worker a node.
  assert.equal(data.summary.addedNodes?.count, 2);
  assert.equal(nodes["agent-n1-copy-2"], "n1-copy-2");
});

test("auto without --like finds the kind of node of which the fewest are needed", async () => {
  const objects = [
    ...cluster,
    node("n2"),
    slice("n2", 4),
    node("n3", { labels: { zone: "c" } }),
    ...pods(14),
  ];
  const { data, code } = await planned(objects, "--add-nodes", "auto");
  assert.equal(code, 0);
  assert.deepEqual(data.summary.addedNodes, {
    like: "n2",
    count: 2,
    fewest: { count: 2, isProven: true },
    notHelped: [],
  });
});

test("auto adds enough nodes for a large pod although small ones spread over them", async () => {
  const small = Array.from({ length: 5 }, (_, i) =>
    pod(`s${i}`, plain({}, { requests: { cpu: "1", memory: "4Gi" } })),
  );
  const large = pod("large", plain({}, { requests: { cpu: "8" } }));
  const { data } = await planned([node("n1"), ...small, large], "--add-nodes", "auto");
  assert.deepEqual(data.summary.addedNodes, {
    like: "n1",
    count: 5,
    fewest: { count: 1, isProven: true },
    notHelped: [],
  });
  assert.equal(data.summary.unplaced, 0);
});

test("says whether the number of nodes depends on the order of placing", async () => {
  const asks = (name: string, cpu: string) => pod(name, plain({}, { requests: { cpu } }));
  const growthOf = async (objects: readonly Manifest[]) => {
    const [{ data }, { stdout }] = await Promise.all([
      planned(objects, "--add-nodes", "auto"),
      planFile(objects, "--add-nodes", "auto"),
    ]);
    return { added: data.summary.addedNodes, stdout };
  };
  const full = [
    node("a", { allocatable: { cpu: "10" } }),
    pod("full", plain({ nodeName: "a" }, { requests: { cpu: "10" } })),
  ];
  const small = ["s0", "s1", "s2"].map((name) => asks(name, "3"));
  // As given, the small ones spread over all nodes first, and the large one needs a whole node.
  const mixed = await growthOf([...full, ...small, asks("l0", "10")]);
  const exact = await growthOf([...full, asks("l0", "10"), asks("l1", "10")]);
  assert.deepEqual([mixed.added?.count, mixed.added?.fewest], [4, { count: 2, isProven: true }]);
  const words = /4 more nodes .*\n\(placing pods by priority, .*; with the largest first 2 would do\)\n/;
  assert.match(mixed.stdout, words);
  assert.deepEqual([exact.added?.count, exact.added?.fewest], [2, { count: 2, isProven: true }]);
  assert.doesNotMatch(exact.stdout, /placing pods by priority/);
  const vague = await growthOf([...full, asks("l0", "6"), asks("l1", "6"), asks("l2", "6")]);
  assert.deepEqual([vague.added?.count, vague.added?.fewest], [3, { count: 3, isProven: false }]);
  assert.match(vague.stdout, /another order may need fewer/);
});

test("proves the number of nodes by their devices, where no device can be shared", async () => {
  const taken = claim("taken", { count: 2 }, { status: { allocation: allocation("a", "gpu-0", "gpu-1") } });
  const objects = [
    node("a"),
    slice("a", 2),
    gpuClass,
    taken,
    pod("runs", usesClaim("taken", { nodeName: "a" })),
  ];
  const waiting = [0, 1, 2].flatMap((i) => [claim(`c${i}`), pod(`p${i}`, usesClaim(`c${i}`))]);
  const { data } = await planned([...objects, ...waiting], "--add-nodes", "auto");
  assert.deepEqual(
    [data.summary.addedNodes?.count, data.summary.addedNodes?.fewest],
    [2, { count: 2, isProven: true }],
  );
});
