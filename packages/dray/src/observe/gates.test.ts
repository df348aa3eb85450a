import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { featuresOf, type KubeObject } from "@dray/api";
import { ClusterRole, ClusterRoleBinding } from "@dray/api/rbac/v1";
import { createAuthority, createServer, issueCertificate } from "@dray/apiserver";
import { createClient, systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import type { Located } from "../manifests/place.ts";
import { inFolder } from "../testing/program.ts";
import { readCluster } from "./cluster.ts";
import { featuresFrom, gatesOfCommandLines, gatesOfFields, schedulerConfigPath } from "./gates.ts";

const place = { source: { file: "", text: "", lineOf: () => undefined }, root: "" };
const located = (object: object): Located => ({ place, object: object as KubeObject });

const staticPod = (component: string, command: readonly string[], more: object = {}): Located =>
  located({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: "kube-system",
      name: `${component}-a`,
      annotations: { "kubernetes.io/config.mirror": "x" },
      ...more,
    },
    spec: { containers: [{ name: component, image: "i", command }] },
  });

test("reads gates and the scheduler's file from command lines of static pods only", () => {
  const objects = [
    staticPod("kube-apiserver", ["kube-apiserver", "--feature-gates=DRAExtendedResource=true,X=false"]),
    staticPod("kube-scheduler", ["kube-scheduler", "--config", "/etc/kubernetes/scheduler.yaml"]),
    staticPod("kube-apiserver", ["kube-apiserver", "--feature-gates=Other=true"], { annotations: {} }),
    staticPod("kube-apiserver", ["kube-apiserver", "--feature-gates=Other=true"], { namespace: "default" }),
    staticPod("other", ["other", "--feature-gates=Other=true"]),
  ];
  const source = "the command line of Pod kube-system/kube-apiserver-a";
  assert.deepEqual(gatesOfCommandLines(objects), [
    { gate: "DRAExtendedResource", enabled: true, source },
    { gate: "X", enabled: false, source },
  ]);
  assert.deepEqual(schedulerConfigPath(objects), {
    pod: "Pod kube-system/kube-scheduler-a",
    path: "/etc/kubernetes/scheduler.yaml",
  });
  assert.equal(schedulerConfigPath(objects.slice(0, 1)), undefined);
});

test("a stored field shows that its gate is on, and a dropped one that it is off", () => {
  const features = featuresOf("1.36");
  const exactly = { deviceClassName: "gpu", allocationMode: "ExactCount", count: 1 };
  const claim = (spec: object, annotations: object = {}): Located =>
    located({
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { namespace: "default", name: "c", annotations },
      spec: { devices: { requests: [{ name: "r", exactly: { ...exactly, ...spec } }] } },
    });
  const capacity = { capacity: { requests: { memory: "1Gi" } } };
  const applied = JSON.stringify(claim(capacity).object);
  const last = { "kubectl.kubernetes.io/last-applied-configuration": applied };
  assert.deepEqual(gatesOfFields([claim(capacity)], features), []);
  assert.deepEqual(gatesOfFields([claim(capacity, last)], features), []);
  assert.deepEqual(
    gatesOfFields([claim({}, last)], features).map(({ gate, enabled }) => [gate, enabled]),
    [["DRAConsumableCapacity", false]],
  );
  const extended = {
    apiVersion: "resource.k8s.io/v1",
    kind: "DeviceClass",
    metadata: { name: "gpu" },
    spec: { extendedResourceName: "example.com/gpu" },
  };
  assert.deepEqual(
    gatesOfFields([located(extended)], featuresOf("1.35")).map(({ gate, enabled }) => [gate, enabled]),
    [["DRAExtendedResource", true]],
  );
});

test("takes the gates that a release has, whatever their order; the user's own come first", () => {
  const gates = (pairs: Readonly<Record<string, boolean>>) =>
    Object.entries(pairs).map(([gate, enabled]) => ({ gate, enabled, source: "s" }));
  const found = gates({
    // Needs the next one.
    DRAWorkloadResourceClaims: true,
    GenericWorkload: true,
    DRAExtendedResource: false,
    // No release has the first; the second is locked to true.
    Unknown: true,
    DynamicResourceAllocation: false,
    DRAPrioritizedList: true,
  });
  const { features, used } = featuresFrom("1.36", found, new Map([["DRAExtendedResource", true]]));
  assert.deepEqual(
    used.map(({ gate }) => gate),
    ["GenericWorkload", "DRAWorkloadResourceClaims"],
  );
  assert.equal(features.enabled("DRAExtendedResource"), true);
  assert.equal(features.enabled("DynamicResourceAllocation"), true);
});

test("reads the gates of a cluster from its metrics, or from its objects and kinds without that right", async () => {
  const now = Date.now();
  const authority = await createAuthority("ca", now);
  const pair = await issueCertificate(
    authority,
    { commonName: "kube-apiserver", ipAddresses: ["127.0.0.1"], usages: ["server"] },
    now,
  );
  const gates = new Map([
    ["GenericWorkload", true],
    ["DRAConsumableCapacity", false],
  ]);
  const server = await createServer({
    store: memoryStore(systemClock),
    kubernetesVersion: "1.36",
    featureGates: gates,
    runtimeConfig: { "scheduling.k8s.io/v1alpha2": true },
    serving: { ...pair, clientAuthority: authority.certificate },
    tokens: ["reader", "lister"].map((name) => ({ token: name, user: { name, groups: [] } })),
  });
  const admin = createClient({
    transport: server.transport({ name: "admin", groups: ["system:masters"] }),
    userAgent: "test",
  });
  try {
    await inFolder(async (folder) => {
      const { url } = await server.listen({ port: 0 });
      const read = async (user: string, featureGates?: string) => {
        const kubeconfig = join(folder, user);
        const ca = Buffer.from(authority.certificate).toString("base64");
        writeFileSync(
          kubeconfig,
          JSON.stringify({
            "current-context": "c",
            clusters: [{ name: "c", cluster: { server: url, "certificate-authority-data": ca } }],
            users: [{ name: "u", user: { token: user } }],
            contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
          }),
        );
        const { features, notes } = await readCluster({ kubeconfig, ...(featureGates && { featureGates }) });
        const on = (["GenericWorkload", "DRAConsumableCapacity"] as const).map((gate) =>
          features.enabled(gate),
        );
        return { on, notes: notes.filter((note) => /gates/.test(note)) };
      };
      await admin.resource(ClusterRole).create({
        metadata: { name: "metrics" },
        rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }],
      });
      await admin.resource(ClusterRoleBinding).create({
        metadata: { name: "metrics" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "metrics" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "reader" }],
      });
      const reader = await read("reader");
      assert.deepEqual(reader.on, [true, false]);
      assert.deepEqual(reader.notes, [
        "context c: gates that differ from the defaults of 1.36, by /metrics: DRAConsumableCapacity=false,GenericWorkload=true",
      ]);
      assert.deepEqual((await read("reader", "DRAConsumableCapacity=true")).on, [true, true]);
      const lister = await read("lister");
      assert.deepEqual(lister.on, [true, true]);
      assert.match(
        lister.notes.join("\n"),
        /^context c: no right to get \/metrics: .*\n.*it serves .*GenericWorkload=true$/,
      );
    });
  } finally {
    admin.close();
    await server.close();
  }
});
