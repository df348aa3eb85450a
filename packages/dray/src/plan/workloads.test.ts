import assert from "node:assert/strict";
import { test } from "node:test";
import { worldOf } from "../inventory/testing.ts";
import {
  gpuClass,
  type Manifest,
  node,
  plain,
  planned,
  pod,
  slice,
  template,
  usesTemplate,
} from "./testing.ts";
import { podsOf, workloadWarnings } from "./workloads.ts";

const workload = (
  kind: string,
  name: string,
  spec: object,
  { metadata = {}, status }: { readonly metadata?: object; readonly status?: object } = {},
): Manifest => ({
  apiVersion: kind === "Job" ? "batch/v1" : "apps/v1",
  kind,
  metadata: { name, ...metadata },
  spec: {
    ...(kind === "Job" ? {} : { selector: { matchLabels: { app: name } } }),
    ...(kind === "StatefulSet" ? { serviceName: name } : {}),
    template: { metadata: { labels: { app: name } }, spec: plain() },
    ...spec,
  },
  ...(status && { status }),
});

const owned = (kind: string, name: string, uid = "5f3a1c0e-0000-4000-8000-000000000001"): object => ({
  ownerReferences: [
    { apiVersion: kind === "Job" ? "batch/v1" : "apps/v1", kind, name, uid, controller: true },
  ],
});

test("every kind of workload becomes its pods, at its place in the file", async () => {
  const restartPolicy = "Never";
  const template = { metadata: { labels: { app: "x" } }, spec: plain({ restartPolicy }) };
  const { nodes, code } = await planned([
    node("a"),
    node("b"),
    node("tainted", { spec: { taints: [{ key: "example.com/only", effect: "NoSchedule" }] } }),
    node("cordoned", { spec: { unschedulable: true } }),
    workload("Deployment", "web", { replicas: 2 }),
    workload("ReplicaSet", "set", {}),
    pod("alone", plain()),
    workload("StatefulSet", "db", { replicas: 2, ordinals: { start: 3 } }),
    workload("DaemonSet", "agent", {}),
    workload("Job", "batch", { parallelism: 3, completions: 2, template }),
    workload("Job", "queue", { parallelism: 2, template }),
    workload("Job", "indexed", { completionMode: "Indexed", completions: 4, parallelism: 2, template }),
    workload("Job", "suspended", { suspend: true, template }),
  ]);
  assert.equal(code, 0);
  assert.deepEqual(Object.keys(nodes), [
    "web-0",
    "web-1",
    "set-0",
    "alone",
    "db-3",
    "db-4",
    "agent-a",
    "agent-b",
    "agent-cordoned",
    "batch-0",
    "batch-1",
    "queue-0",
    "queue-1",
    "indexed-0",
    "indexed-1",
  ]);
  assert.deepEqual(
    ["agent-a", "agent-b", "agent-cordoned"].map((name) => nodes[name]),
    ["a", "b", "cordoned"],
  );
});

test("pods that a workload has already are not made a second time", async () => {
  const hash = { labels: { app: "web", "pod-template-hash": "5d4f" } };
  const running = plain({ nodeName: "a" });
  const restartPolicy = "Never";
  const jobTemplate = { metadata: { labels: { app: "x" } }, spec: plain({ restartPolicy }) };
  const uid = "0c0a7a4e-0000-4000-8000-00000000000";
  const { nodes } = await planned([
    node("a"),
    workload("Deployment", "web", { replicas: 4 }),
    // Pods of a given ReplicaSet, of a missing one, and of one that is being deleted.
    workload("ReplicaSet", "web-1111", { replicas: 1 }, { metadata: owned("Deployment", "web") }),
    pod("web-1111-x", running, owned("ReplicaSet", "web-1111")),
    pod("web-5d4f-y", running, { ...hash, ...owned("ReplicaSet", "web-5d4f") }),
    pod("web-5d4f-z", running, {
      ...hash,
      ...owned("ReplicaSet", "web-5d4f"),
      deletionTimestamp: "2026-01-01T00:00:00Z",
    }),
    workload("StatefulSet", "db", { replicas: 2 }),
    pod("db-0", running, owned("StatefulSet", "db")),
    workload("DaemonSet", "agent", {}),
    pod("agent-q", running, owned("DaemonSet", "agent")),
    workload("Job", "job", { parallelism: 2, completions: 3, template: jobTemplate }),
    pod("job-done", running, owned("Job", "job"), { status: { phase: "Succeeded" } }),
    pod("job-runs", running, owned("Job", "job")),
    // Controllers create no more pods for these.
    workload(
      "Deployment",
      "going",
      { replicas: 2 },
      { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", uid: `${uid}3` } },
    ),
    workload(
      "Job",
      "failing",
      { template: jobTemplate },
      {
        status: {
          conditions: [{ type: "FailureTarget", status: "True" }],
        },
      },
    ),
    workload("Job", "drained", { parallelism: 2, template: jobTemplate }, { status: { succeeded: 1 } }),
    // Its pod belongs to an earlier one of the same name.
    workload("ReplicaSet", "again", { replicas: 1 }, { metadata: { uid: `${uid}1` } }),
    pod("again-0", running, owned("ReplicaSet", "again", `${uid}2`)),
  ]);
  assert.deepEqual(Object.keys(nodes).toSorted(), [
    "again-0",
    "again-0-0",
    "agent-q",
    "db-0",
    "db-1",
    "job-0",
    "job-runs",
    "web-0",
    "web-1",
    "web-1111-x",
    "web-5d4f-y",
    "web-5d4f-z",
  ]);
});

test("each pod gets a claim of its own from the template, under a name that no other claim has", async () => {
  const { data, devices } = await planned([
    node("a"),
    slice("a", 3),
    gpuClass,
    template("t"),
    workload("StatefulSet", "db", {
      replicas: 2,
      template: { metadata: { labels: { app: "db" } }, spec: usesTemplate("t") },
    }),
    {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name: "db-0-gpu" },
      spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } },
    },
  ]);
  assert.deepEqual(devices, { "db-0": ["a/gpu-0"], "db-1": ["a/gpu-1"] });
  assert.deepEqual(
    data.pods.flatMap(({ claims }) => claims.map(({ name, podClaim }) => [name, podClaim])),
    [
      ["db-0-gpu-1", "gpu"],
      ["db-1-gpu", "gpu"],
    ],
  );
});

test("a pending pod uses the claim that the controller has made for it", async () => {
  const uid = "0c0a7a4e-0000-4000-8000-000000000001";
  const claimOf = (name: string, annotations: object): Manifest => ({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      name,
      annotations,
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true }],
    },
    spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } },
  });
  const cluster = [node("a"), slice("a", 1), gpuClass];
  const [recorded, annotated] = await Promise.all([
    planned([
      ...cluster,
      claimOf("p-gpu-x7f2k", {}),
      pod(
        "p",
        usesTemplate("gone"),
        { uid },
        {
          status: { resourceClaimStatuses: [{ name: "gpu", resourceClaimName: "p-gpu-x7f2k" }] },
        },
      ),
    ]),
    planned([
      ...cluster,
      claimOf("p-gpu-abcde", { "resource.kubernetes.io/pod-claim-name": "gpu" }),
      pod("p", usesTemplate("gone"), { uid }),
    ]),
  ]);
  assert.deepEqual(
    [recorded, annotated].map(({ data }) => data.pods[0]?.claims[0]?.name),
    ["p-gpu-x7f2k", "p-gpu-abcde"],
  );
  assert.deepEqual([recorded.nodes, annotated.nodes], [{ p: "a" }, { p: "a" }]);
});

test("of a workload with a huge number of replicas the first pods are planned, with a warning", () => {
  const set = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "huge" },
    spec: {
      replicas: 2 ** 31 - 1,
      serviceName: "s",
      selector: { matchLabels: { app: "a" } },
      template: { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  };
  const world = worldOf([set]);
  assert.equal(podsOf(world, []).length, 20_000);
  assert.deepEqual(workloadWarnings(world), [
    "StatefulSet default/huge: spec.replicas is 2147483647: the first 20000 pods are planned",
  ]);
});
