import assert from "node:assert/strict";
import type { Event } from "@dray/api/core/v1";
import { allocation, type Manifest, node, pod, slice, usesClaim } from "../plan/testing.ts";
import { brief, cluster, examined, finds, held, now, rule, uidOfPod } from "./testing.ts";

const withSlice = (name: string, spec: object, metadata: object = {}): Manifest => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name, ...metadata },
  spec: {
    driver: "gpu.example.com",
    pool: { name: "z", generation: 1, resourceSliceCount: 1 },
    devices: [{ name: "d" }],
    ...spec,
  },
});

rule("stale-slice", () => {
  finds(
    cluster([withSlice("old", { nodeName: "z" })]),
    ["stale-slice: ResourceSlice old publishes 1 device of node z, which is gone"],
    {
      fix: "kubectl delete resourceslice old",
    },
  );
  const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "a", uid: "before" }];
  finds(cluster([withSlice("old", { nodeName: "a" }, { ownerReferences })]), [
    "stale-slice: ResourceSlice old publishes 1 device of node a, which is gone",
  ]);
});

rule("outdated-slice", () => {
  finds(cluster([slice("a", 2, { generation: 2 }, "new"), slice("a", 2, { generation: 1 })]), [
    "outdated-slice: ResourceSlice a-gpus belongs to an older generation of pool gpu.example.com/a",
  ]);
});

rule("pool-incomplete", () => {
  finds(cluster([slice("b", 2, { resourceSliceCount: 2 })]), [
    "pool-incomplete: ResourceSlice b-gpus pool gpu.example.com/b is incomplete: its slices say that generation 1 has 2 of them (resourceSliceCount), and 1 is given: b-gpus",
  ]);
});

rule("pool-invalid", () => {
  const [first, second] = [
    slice("b", 1, { resourceSliceCount: 2 }),
    slice("b", 1, { resourceSliceCount: 2 }, "twice"),
  ];
  const [found] = examined(cluster([first, second]));
  assert.match(brief([found!])[0]!, /^pool-invalid: ResourceSlice twice .*two devices with the name gpu-0/);
});

const failed = (minutes: number): Event =>
  ({
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      name: "e",
      namespace: "default",
      uid: "e",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    involvedObject: { kind: "Pod", namespace: "default", name: "waits", uid: uidOfPod("waits") },
    reason: "FailedPrepareDynamicResources",
    message:
      "Failed to prepare dynamic resources: prepare dynamic resources: DRA driver gpu.example.com is not registered",
    lastTimestamp: new Date(now - minutes * 60_000).toISOString(),
  }) as Event;
rule("driver-not-registered", () => {
  const waits = pod("waits", usesClaim("d", { nodeName: "a" }), { uid: uidOfPod("waits") });
  const objects = cluster([waits, held("d", allocation("a", "gpu-1"), ["waits"])]);
  finds(
    objects,
    [
      "driver-not-registered: Node a publishes devices of driver gpu.example.com, which is not registered with its kubelet",
    ],
    {
      evidence: /the kubelet says of default\/waits, at 2026-01-01T11:55:00.000Z/,
      around: { events: [failed(5)] },
    },
  );
  finds(objects, [], { around: { events: [failed(30)] } });
});

rule("driver-not-running", () => {
  const plugin = (nodeName: string, ready: boolean): Manifest =>
    pod(
      `plugin-${nodeName}`,
      {
        nodeName,
        containers: [{ name: "plugin", image: "plugin" }],
        volumes: [
          { name: "registry", hostPath: { path: "/var/lib/kubelet/plugins_registry/" } },
          { name: "cdi", hostPath: { path: "/var/run/cdi" } },
        ],
      },
      {
        uid: uidOfPod(`plugin-${nodeName}`),
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "DaemonSet", name: "plugin", uid: "set", controller: true },
        ],
      },
      { status: { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] } },
    );
  finds(cluster([plugin("a", true), plugin("b", true)]), []);
  const message =
    "driver-not-running: Node b publishes devices of driver gpu.example.com, whose pod does not run here";
  // Its pod is a finding of its own.
  finds(cluster([plugin("a", true), plugin("b", false)]), []);
  finds(cluster([plugin("a", true)]), [message], { evidence: /no pod on node b mounts/ });
});

rule("versions-out-of-step", () => {
  const kubelet = (version: string): readonly Manifest[] => {
    const { status, ...rest } = node("b") as { status: object };
    return cluster([{ ...rest, status: { ...status, nodeInfo: { kubeletVersion: version } } }]);
  };
  const around = { server: { release: "1.37", served: ["v1", "v1beta1"] } };
  finds(kubelet("v1.34.2"), [], { around });
  finds(
    kubelet("v1.38.0"),
    ["versions-out-of-step: Node b its kubelet is 1 minor version newer than the API server"],
    { around },
  );
  finds(
    kubelet("v1.33.1-gke.100"),
    [
      "versions-out-of-step: Node b its kubelet is 4 minor versions older than the API server: at most 3 are supported",
    ],
    {
      around,
      evidence: /its kubelet has to be upgraded to 1\.34 or later, up to 1\.37/,
      fix: "kubectl get node b -o wide",
    },
  );
  const old = { server: { release: "1.34", served: ["v1"] } };
  finds(
    kubelet("v1.33.1"),
    ["versions-out-of-step: Node b has devices, and its kubelet cannot read claims of this API server"],
    {
      evidence: /reads claims in resource\.k8s\.io\/v1beta1/,
      around: old,
    },
  );
});
