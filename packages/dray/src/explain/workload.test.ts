import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Event } from "@dray/api/core/v1";
import { features, heldClaim, worldOf } from "../inventory/testing.ts";
import { type Schema, violations } from "../observe/json-schema.ts";
import { rightsOf } from "../observe/rights.ts";
import {
  claim,
  gpuClass,
  type Manifest,
  node,
  plain,
  pod,
  slice,
  template,
  usesClaim,
  usesTemplate,
} from "../plan/testing.ts";
import { overviewOf, overviewText } from "./overview.ts";
import { explainText } from "./print.ts";
import { noSurroundings } from "./surroundings.ts";
import { explained, now, warning } from "./testing.ts";

const deployment = (replicas: number, more: object = {}): Manifest => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: usesTemplate("t") },
  },
  ...more,
});
const cluster = [node("a"), slice("a", 1), gpuClass, template("t")];

test("a Deployment of manifests is explained by a pod that it would have", async () => {
  const fits = await explained("deployment/web", [...cluster, deployment(1)]);
  assert.deepEqual([fits.state, fits.placement?.fits], ["waiting", "a"]);
  const tainted = slice("a", [{ name: "x", taints: [{ key: "old", effect: "NoSchedule" }] }]);
  const stuck = await explained("deploy/web", [
    ...cluster.filter((each) => each !== cluster[1]),
    tainted,
    deployment(2),
  ]);
  assert.match(stuck.summary, /^Deployment default\/web: 0 of 2 pods run: pod default\/web-0: 0\/1 nodes/);
  assert.match(explainText(stuck, now), /tolerating old:NoSchedule: it lands on a/);
});

test("a Deployment of a cluster whose pods are refused says why", async () => {
  const message = 'pods "web-x" is forbidden: exceeded quota: q';
  const status = {
    conditions: [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message }],
  };
  const answer = await explained("deployment/web", [...cluster, deployment(2, { status })], { isLive: true });
  assert.deepEqual(
    answer.waits.map((each) => [each.for, each.message]),
    [["pods", `2 pods do not exist: ${message}`]],
  );
  const byEvent = await explained("deployment/web", [...cluster, deployment(1)], {
    isLive: true,
    events: [warning("FailedCreate", "no")],
  });
  assert.match(byEvent.summary, /0 of 1 pod run: 1 pod does not exist: no/);
});

test("a PodGroup, a Job and a running workload", async () => {
  const group = {
    apiVersion: "scheduling.k8s.io/v1beta1",
    kind: "PodGroup",
    metadata: { name: "g", namespace: "default" },
    spec: { schedulingPolicy: { gang: { minCount: 2 } } },
  };
  const members = ["m0", "m1"].map((name) =>
    pod(name, usesTemplate("t", { schedulingGroup: { podGroupName: "g" } })),
  );
  const gang = await explained("podgroup/g", [...cluster, group, ...members], {
    podGroups: [group as never],
  });
  assert.match(gang.summary, /^PodGroup default\/g: 0 of 2 pods run: pod default\/m0: /);
  const job = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "j", namespace: "default" },
    spec: { suspend: true, template: { spec: { ...plain(), restartPolicy: "Never" } } },
  };
  assert.match((await explained("job/j", [...cluster, job])).summary, /it is suspended/);
  const ownerReferences = [
    { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-1", uid: "u", controller: true },
  ];
  const set = {
    ...deployment(1),
    kind: "ReplicaSet",
    metadata: { name: "web-1", namespace: "default", uid: "u" },
  };
  const runs = pod(
    "web-1-x",
    plain({ nodeName: "a" }),
    { ownerReferences },
    { status: { phase: "Running" } },
  );
  const running = await explained("rs/web-1", [...cluster, set, runs], { isLive: true });
  assert.deepEqual(
    [running.state, running.summary],
    ["running", "ReplicaSet default/web-1: 1 of 1 pod runs"],
  );
});

test("without a name all that waits is listed, one line each", async () => {
  const events = [
    { ...warning("FailedMount", "no such secret"), involvedObject: { namespace: "default", name: "starts" } },
  ];
  const world = worldOf([
    ...cluster,
    ...[
      claim("wanted", { count: 2 }),
      pod("waits", usesClaim("wanted")),
      pod("unmade", usesTemplate("none")),
    ],
    pod("starts", plain({ nodeName: "a" }), {}, { status: { phase: "Pending" } }),
    pod("fine", plain({ nodeName: "a" }), {}, { status: { phase: "Running" } }),
    {
      ...heldClaim("gone", ["a/gpu-0"], ["p"]),
      metadata: { name: "gone", uid: "g", deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x/y"] },
    },
  ]);
  const surroundings = { ...noSurroundings, events: events as unknown as Event[] };
  const scene = { world, features, surroundings, now };
  const overview = await overviewOf(scene, {}, rightsOf(["Pod"], []));
  assert.deepEqual(
    overview.items.map(({ name, state, wait }) => [name, state, wait.for]),
    [
      ["starts", "starting", "volume"],
      ["unmade", "waiting", "claim-missing"],
      ["waits", "waiting", "nodes"],
      ["gone", "deleting", "termination"],
    ],
  );
  assert.match(
    overviewText(overview),
    /default +pod\/waits +waiting +0\/1 nodes are available: 1 cannot allocate/,
  );
  const schema = JSON.parse(
    readFileSync(join(import.meta.dirname, "../../schema/explain-list.json"), "utf8"),
  ) as Schema;
  assert.deepEqual(violations(schema, JSON.parse(JSON.stringify(overview))), []);
  assert.deepEqual((await overviewOf(scene, { namespace: "other" }, rightsOf([], []))).items, []);
});
