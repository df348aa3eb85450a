import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dray, inFolder, output, start } from "../testing/program.ts";
import { node, type PlanData, plain, planned, pod } from "./testing.ts";

test("files, directories, streams of documents and standard input are read alike", async () => {
  await inFolder(async (folder) => {
    const yaml = (...objects: unknown[]): string =>
      objects.map((each) => JSON.stringify(each)).join("\n---\n");
    writeFileSync(
      join(folder, "b.yml"),
      `# leading words\n---\n${yaml(node("n"), pod("second", plain()))}\n---\n`,
    );
    writeFileSync(join(folder, "a.json"), JSON.stringify({ kind: "PodList", apiVersion: "v1", items: [] }));
    writeFileSync(join(folder, "note.txt"), "no manifest");
    writeFileSync(join(folder, "kustomization.yaml"), "resources: [b.yml]");
    const child = start(
      ["plan", "-f", "-", "-f", folder, "-f", join(folder, "b.yml"), "-o", "json"],
      {},
      { stdin: "pipe" },
    );
    child.stdin?.end(yaml(pod("first", plain())));
    const { stdout, stderr, code } = await output(child);
    assert.deepEqual([stderr, code], ["", 0]);
    const { pods } = JSON.parse(stdout) as PlanData;
    assert.deepEqual(
      pods.map(({ name }) => name),
      ["first", "second"],
    );
  });
});

test("other kinds are noted on standard error and left aside", async () => {
  const { code, stderr } = await planned([
    node("n"),
    { apiVersion: "v1", kind: "Service", metadata: { name: "s" } },
    { apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "g" } },
    { apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "h" } },
  ]);
  assert.equal(code, 0);
  assert.match(stderr, /^note: Service \(v1\) is left aside: .*objects.json:1, document 1, item 2\n/);
  assert.match(stderr, /note: Gadget \(example.com\/v1\) is left aside: 2 objects, the first in .*item 3\n$/);
});

test("objects that a server has stored are taken as they are", async () => {
  const stored = {
    uid: "5f3a1c0e-0000-4000-8000-000000000001",
    resourceVersion: "12",
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  const { code, stderr, nodes } = await planned([
    node("n"),
    {
      ...pod("p", {
        ...plain(),
        fieldOfTomorrow: 1,
        priority: 9,
        preemptionPolicy: "Never",
        priorityClassName: "unknown-here",
      }),
      metadata: { name: "p", ...stored },
    },
  ]);
  assert.deepEqual([code, nodes], [0, { p: "n" }]);
  assert.match(
    stderr,
    /^note: .*item 2: Pod default\/p: unknown field "spec.fieldOfTomorrow", which is not looked at\n$/,
  );
});

test("the manifests of the tutorial plan, too", async () => {
  const folder = join(import.meta.dirname, "../../../../examples");
  assert.match(readFileSync(join(folder, "high-vram-gpu/pod.yaml"), "utf8"), /my-gpu-claim/);
  const files = ["plan/cluster.yaml", "high-vram-gpu", "unsatisfiable", "shared-claim", "gpu-class"];
  const { code, stdout, stderr } = await dray([
    "plan",
    ...files.flatMap((file) => ["-f", join(folder, file)]),
    "-o",
    "json",
  ]);
  assert.deepEqual([stderr, code], ["", 1]);
  const { pods } = JSON.parse(stdout) as PlanData;
  assert.equal(pods.find(({ name }) => name === "wants-huge-gpu")?.node, null);
  assert.ok(pods.find(({ name }) => name === "ai-workload")?.node);
  const claims = pods.filter(({ name }) => ["first", "second"].includes(name)).map((each) => each.claims);
  assert.deepEqual(claims[0], claims[1]);
});
