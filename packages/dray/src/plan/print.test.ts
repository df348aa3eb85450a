import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dray, inFolder } from "../testing/program.ts";
import {
  claim,
  gpuClass,
  node,
  plain,
  planFile,
  pod,
  slice,
  template,
  usesClaim,
  usesTemplate,
} from "./testing.ts";

const deployment = (name: string, replicas: number, spec: object): Record<string, unknown> => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec },
  },
});

const rowsOf = (stdout: string): string[][] =>
  (stdout.split("\n\n")[0] ?? "").split("\n").map((line) => line.split(/ {3,}/));

test("of many pods the first of each workload are listed, and how many more there are", async () => {
  const running = Array.from({ length: 60 }, (_, i) => pod(`old-${i}`, plain({ nodeName: "b" })));
  const bare = Array.from({ length: 9 }, (_, i) => pod(`bare-${i}`, plain()));
  const { stdout } = await planFile([
    node("a", { allocatable: { pods: "500" } }),
    node("b", { allocatable: { pods: "500" } }),
    slice("a", 8),
    gpuClass,
    template("t"),
    ...running,
    deployment("web", 40, usesTemplate("t")),
    deployment("few", 6, plain()),
    ...bare,
  ]);
  const rows = rowsOf(stdout);
  const folded = rows.filter(([name]) => name?.startsWith("...") ?? false);
  assert.deepEqual(folded, [
    ["... and 55 more", "running", "1 node", "-"],
    ["... and 3 more of Deployment default/web", "fits", "1 node", "3 devices"],
    ["... and 27 more of Deployment default/web", "does not fit", "-", "-"],
    ["... and 4 more", "fits", folded[3]?.[2] ?? "", "-"],
  ]);
  // A line "and 1 more" would be as long as the row of the pod.
  assert.deepEqual(
    rows.flatMap(([name = ""]) => (name.startsWith("default/few") ? name : [])),
    [0, 1, 2, 3, 4, 5].map((i) => `default/few-${i}`),
  );
  assert.equal(rows.length, 1 + 6 + 6 + 6 + 6 + 6);
});

test("a plan of many pods prints fewer than 160 lines", async () => {
  const deployments = Array.from({ length: 150 }, (_, i) =>
    deployment(`d-${i}`, 1, plain({}, { requests: { cpu: String(100 + i) } })),
  );
  const { stdout } = await planFile([node("a"), ...deployments]);
  const lines = stdout.trimEnd().split("\n");
  assert.ok(lines.length < 160, String(lines.length));
  assert.ok(lines.includes("and 50 more lines (-o json has them all)"));
  assert.ok(lines.includes("130 more pods do not fit (-o json has them all)"));
  assert.equal(lines.at(-1), "150 pods on 1 node: 150 do not fit");
});

test("equal pods share one explanation, in which devices of other classes come last", async () => {
  const selectors = [{ cel: { expression: 'device.driver == "other.example.com"' } }];
  const otherClass = { ...gpuClass, metadata: { name: "other" }, spec: { selectors } };
  const other = { ...slice("a", [{ name: "x" }], { name: "other" }, "other") };
  const { stdout } = await planFile([
    node("a"),
    slice("a", 3),
    { ...other, spec: { ...(other["spec"] as object), driver: "other.example.com" } },
    gpuClass,
    otherClass,
    template("t", { deviceClassName: "other" }),
    ...["one", "two", "three"].map((name) => pod(name, usesTemplate("t"))),
  ]);
  assert.match(
    stdout,
    /\ndefault\/two, default\/three: 0\/1 nodes are available: 1 cannot allocate all claims.\n/,
  );
  const at = (text: string): number => stdout.indexOf(text);
  assert.ok(at("1 on 1 node: in use") > 0);
  assert.ok(at("1 on 1 node: in use") < at("3 on 1 node: ruled out by a selector of the class"));
});

test("a pod that is on its node without its devices is not called running", async () => {
  const { stdout } = await planFile([
    node("n"),
    slice("n", 1),
    gpuClass,
    claim("c"),
    pod("stuck", usesClaim("c", { nodeName: "n" })),
    pod("well", plain({ nodeName: "n" })),
  ]);
  assert.match(stdout, /\ndefault\/stuck +bound +n +-\ndefault\/well +running +n +-\n/);
});

test("names of nodes in a message are few", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "nodes.json");
    const items = Array.from({ length: 50 }, (_, i) => node(`n${i}`));
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    const { stderr, code } = await dray(["plan", "-f", file, "--add-nodes", "1", "--like", "nobody"]);
    assert.equal(code, 2);
    assert.match(stderr, /--like nobody: must be one of n0, n1, n2 and 47 more\n/);
  });
});

test("-o wide has a row for each request, with its class, and all pods", async () => {
  const exactly = { deviceClassName: "gpu" };
  const requests = [
    { name: "two", exactly: { ...exactly, count: 2 } },
    {
      name: "either",
      firstAvailable: [
        { name: "many", ...exactly, count: 9 },
        { name: "one", ...exactly },
      ],
    },
  ];
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "u", controller: true };
  const { stdout } = await planFile(
    [
      node("n"),
      slice("n", 4),
      gpuClass,
      claim("c", {}, { spec: { devices: { requests } } }),
      claim("late"),
      template("t"),
      pod("runs", plain({ nodeName: "n" }), { ownerReferences: [owner] }),
      pod("starts", plain({ nodeName: "n" }), {}, { status: { phase: "Pending" } }),
      pod("both", usesClaim("c", { priorityClassName: "system-node-critical" })),
      pod("waits", usesClaim("missing")),
      deployment("web", 1, usesTemplate("t")),
      deployment("more", 1, usesTemplate("t")),
      deployment("broken", 1, { containers: [] }),
    ],
    "-o",
    "wide",
  );
  const device = (i: number): string => `gpu.example.com/n/gpu-${i}`;
  assert.deepEqual(rowsOf(stdout), [
    ["POD", "STATUS", "NODE", "FROM", "PRIORITY", "CLAIM", "REQUEST", "CLASS", "DEVICES"],
    ["default/runs", "running", "n", "ReplicaSet rs", "0", "-", "-", "-", "-"],
    ["default/starts", "bound", "n", "-", "0", "-", "-", "-", "-"],
    ["default/both", "fits", "n", "-", "2000001000", "c", "two", "gpu", `${device(0)}, ${device(1)}`],
    ["", "c", "either/one", "gpu", device(2)],
    ["default/waits", "pending", "-", "-", "0", "missing", "-", "-", "-"],
    ["default/web-0", "fits", "n", "Deployment default/web", "0", "web-0-gpu", "gpu", "gpu", device(3)],
    ["default/more-0", "does not fit", "-", "Deployment default/more", "0", "more-0-gpu", "gpu", "gpu", "-"],
    ["Deployment default/broken", "refused", "-", "-", "-", "-", "-", "-", "-"],
  ]);
  assert.match(
    stdout,
    /\n6 pods on 1 node: 1 running, 1 bound, 2 fit, 1 does not fit, 1 pending; 1 object left out because of mistakes\n$/,
  );
});
