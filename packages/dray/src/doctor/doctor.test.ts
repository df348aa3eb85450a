import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Event } from "@dray/api/core/v1";
import { features, partitionedGpu, worldOf } from "../inventory/testing.ts";
import { World } from "../manifests/world.ts";
import {
  allocation,
  claim,
  gpuClass,
  type Manifest,
  node,
  pod,
  slice,
  template,
  usesClaim,
  usesTemplate,
} from "../plan/testing.ts";
import { confirmed, diagnose } from "./doctor.ts";
import { type Finding, labelOfName } from "./finding.ts";
import { doctorText } from "./print.ts";
import { type RuleId, ruleIds } from "./rules.ts";
import {
  type Around,
  cluster,
  examined,
  healthy,
  held,
  now,
  protection,
  running,
  uidOfPod,
} from "./testing.ts";

const brief = (findings: readonly Finding[]): string[] =>
  findings.map(({ rule, object, message }) => `${rule}: ${labelOfName(object)} ${message}`);

/** Exactly these findings, and in one of them this evidence and this command. */
function finds(
  objects: readonly Manifest[],
  expected: readonly string[],
  { evidence, fix, around = {} }: { evidence?: RegExp; fix?: string; around?: Around } = {},
): void {
  const findings = examined(objects, around);
  assert.deepEqual(brief(findings), expected);
  const all = findings.flatMap((finding) => finding.evidence).join("\n");
  if (evidence !== undefined) assert.match(all, evidence);
  const commands = findings.flatMap((finding) => finding.fix);
  if (fix !== undefined) assert.ok(commands.includes(fix), commands.join("\n"));
}

const two = (first: string, second: string): object => allocation("a", first, second);

/** Every rule whose case has been tried. */
const tried = new Set<RuleId>();
function rule(id: RuleId, body: () => void): void {
  tried.add(id);
  test(id, body);
}

test("nothing is found in a cluster in which nothing is wrong", () => {
  finds(healthy, []);
});

describe("devices", () => {
  rule("device-given-twice", () => {
    finds(
      cluster([running("q", "a", "d"), held("d", allocation("a", "gpu-0"), ["q"])]),
      [
        "device-given-twice: ResourceClaim default/d has device gpu.example.com/a/gpu-0, which default/c has too",
      ],
      { evidence: /default\/c has it for itself, for pods p/, fix: "kubectl delete pod q -n default" },
    );
    const admin = allocation("a", "gpu-0") as { devices: { results: object[] } };
    const seen = {
      ...admin,
      devices: { results: admin.devices.results.map((each) => ({ ...each, adminAccess: true })) },
    };
    const findings = examined(
      cluster([running("q", "a", "d"), held("d", seen, ["q"], { exactly: { adminAccess: true } })]),
    );
    assert.deepEqual(brief(findings), [], "admin access takes nothing");
  });

  const shared = (capacity: string): Manifest =>
    slice("a", [
      {
        name: "gpu-0",
        allowMultipleAllocations: true,
        attributes: { model: { string: "a100" } },
        capacity: { memory: { value: capacity } },
      },
    ]);
  const share = (id: string, memory: string): object => ({
    ...allocation("a"),
    devices: {
      results: [
        {
          request: "gpu",
          driver: "gpu.example.com",
          pool: "a",
          device: "gpu-0",
          shareID: `00000000-0000-4000-8000-00000000000${id}`,
          consumedCapacity: { memory },
        },
      ],
    },
  });
  const asks = (memory: string): object => ({ exactly: { capacity: { requests: { memory } } } });

  rule("capacity-overdrawn", () => {
    const holders = [
      running("q", "a", "d"),
      held("c", share("1", "40Gi"), ["p"], asks("40Gi")),
      held("d", share("2", "30Gi"), ["q"], asks("30Gi")),
    ];
    finds(cluster([shared("70Gi"), ...holders]), []);
    finds(
      cluster([shared("60Gi"), ...holders]),
      [
        "capacity-overdrawn: ResourceSlice a-gpus device gpu.example.com/a/gpu-0: its shares consume 70Gi of memory, and it has 60Gi",
      ],
      { evidence: /default\/d consumes 30Gi/, fix: "kubectl delete pod q -n default" },
    );
  });

  rule("counter-overdrawn", () => {
    const of = (device: string): object => ({
      ...allocation("a"),
      devices: { results: [{ request: "gpu", driver: "gpu.example.com", pool: "a-g", device }] },
    });
    const objects = (first: string, second: string): readonly Manifest[] =>
      cluster([
        ...partitionedGpu("a", "g"),
        running("q", "a", "d"),
        held("c", of(first), ["p"]),
        held("d", of(second), ["q"]),
      ]);
    finds(objects("g-half-0", "g-half-1"), []);
    finds(
      objects("g-half-0", "g-whole"),
      [
        "counter-overdrawn: ResourceSlice a-g-counters pool a-g: devices that are allocated consume 120Gi of counter memory of set g, and there is 80Gi",
      ],
      { evidence: /g-whole consumes 80Gi: default\/d has it/ },
    );
  });

  rule("device-not-published", () => {
    finds(
      cluster([held("c", allocation("a", "gpu-7"), ["p"])]),
      [
        "device-not-published: ResourceClaim default/c has device gpu.example.com/a/gpu-7, which no ResourceSlice publishes",
      ],
      { evidence: /the pool has gpu-0, gpu-1/ },
    );
  });
});

describe("wrong-allocation", () => {
  tried.add("wrong-allocation");
  const wrong = (message: string): string[] => [`wrong-allocation: ResourceClaim default/c ${message}`];
  const selectors = (expression: string): object => ({ selectors: [{ cel: { expression } }] });

  test("a selector that does not match, with the values that it reads", () => {
    const exactly = selectors('device.attributes["gpu.example.com"].model == "h100"');
    finds(
      cluster([held("c", allocation("a", "gpu-0"), ["p"], { exactly })]),
      wrong("would not get these devices on node a"),
      {
        evidence: /ruled out by a selector of the request: .*model = a100/,
        fix: "kubectl delete pod p -n default",
      },
    );
  });

  test("a selector that fails", () => {
    const exactly = selectors('device.attributes["gpu.example.com"].nosuch == "h100"');
    const objects = cluster([held("c", allocation("a", "gpu-0"), ["p"], { exactly })]);
    finds(objects, wrong("would not get these devices"), { evidence: /no such key: nosuch/ });
  });

  test("a class that is gone", () => {
    finds(cluster([], ["DeviceClass gpu"]), [
      ...wrong("has devices of a class that does not exist"),
      "missing-class: ResourceClaim default/open names DeviceClass gpu, which does not exist",
    ]);
  });

  test("more devices than were asked for, and fewer", () => {
    finds(cluster([held("c", two("gpu-0", "gpu-1"), ["p"])]), wrong("has 1 device more than it asks for"));
    const fewer = cluster([held("c", allocation("a", "gpu-0"), ["p"], { exactly: { count: 2 } })]);
    finds(fewer, wrong("would not get these devices on node a"), { evidence: /wants 2 devices/ });
  });

  test("devices given to each other's requests", () => {
    const request = (name: string, index: number): object => ({
      name,
      exactly: {
        deviceClassName: "gpu",
        ...selectors(`device.attributes["gpu.example.com"].index == ${index}`),
      },
    });
    const given = (...devices: readonly string[]): object => ({
      ...allocation("a"),
      devices: {
        results: devices.map((device, i) => ({
          request: `r${i}`,
          driver: "gpu.example.com",
          pool: "a",
          device,
        })),
      },
    });
    const objects = (...devices: readonly string[]): readonly Manifest[] => {
      const spec = { devices: { requests: [request("r0", 0), request("r1", 1)] } };
      return cluster([{ ...held("c", given(...devices), ["p"]), spec }]);
    };
    finds(objects("gpu-0", "gpu-1"), []);
    finds(objects("gpu-1", "gpu-0"), wrong("would not get these devices on node a"));
  });

  test("an alternative other than the first is right", () => {
    const results = [{ request: "gpu/second", driver: "gpu.example.com", pool: "a", device: "gpu-0" }];
    const given = { ...allocation("a"), devices: { results } };
    const alternatives = (name: string): object => ({
      devices: {
        requests: [
          {
            name: "gpu",
            firstAvailable: [
              { name: "first", deviceClassName: "gpu" },
              { name, deviceClassName: "gpu" },
            ],
          },
        ],
      },
    });
    finds(cluster([{ ...held("c", given, ["p"]), spec: alternatives("second") }]), []);
  });

  test("taints count if they were there before", () => {
    const tainted = (timeAdded: string): Manifest =>
      slice("a", [
        {
          name: "gpu-0",
          attributes: { model: { string: "a100" } },
          taints: [{ key: "broken", effect: "NoSchedule", timeAdded }],
        },
        { name: "gpu-1" },
      ]);
    const given = { ...allocation("a", "gpu-0"), allocationTimestamp: "2026-01-01T10:00:00Z" };
    const objects = (timeAdded: string): readonly Manifest[] =>
      cluster([tainted(timeAdded), held("c", given, ["p"])]);
    finds(objects("2026-01-01T10:00:00Z"), []);
    finds(objects("2026-01-01T09:59:59Z"), wrong("would not get these devices on node a"), {
      evidence: /broken:NoSchedule is not tolerated/,
    });
  });

  test("nodes that do not have the devices, and nodes that do not exist", () => {
    const { nodeSelector: _, ...everywhere } = allocation("a", "gpu-0") as { nodeSelector: unknown };
    finds(
      cluster([held("c", everywhere, ["p"])]),
      wrong("lets its pods run on nodes that do not have its devices"),
      {
        evidence: /nodeSelector matches b; the devices are on a/,
      },
    );
    const elsewhere = {
      ...everywhere,
      nodeSelector: (allocation("z") as { nodeSelector: unknown }).nodeSelector,
    };
    const findings = examined(cluster([held("c", elsewhere, ["p"])]));
    assert.deepEqual(brief(findings), [
      ...wrong("is for nodes that do not exist"),
      "pod-without-devices: Pod default/p runs on node a without its devices",
    ]);
  });

  test("a share that consumes something else", () => {
    const device = { name: "gpu-0", allowMultipleAllocations: true, capacity: { memory: { value: "80Gi" } } };
    const result = {
      ...{ request: "gpu", driver: "gpu.example.com", pool: "a", device: "gpu-0" },
      ...{ shareID: "00000000-0000-4000-8000-000000000001", consumedCapacity: { memory: "10Gi" } },
    };
    const given = { ...allocation("a"), devices: { results: [result] } };
    const exactly = { capacity: { requests: { memory: "40Gi" } } };
    finds(
      cluster([slice("a", [device]), held("c", given, ["p"], { exactly })]),
      wrong("consumes other amounts than it asks for"),
      { evidence: /consumes 10Gi of memory, and asks for 40Gi/ },
    );
  });
});

describe("claims and pods", () => {
  rule("pod-without-devices", () => {
    const bound = (name: string): string =>
      `pod-without-devices: Pod default/${name} is bound on node a without its devices`;
    const objects = cluster([
      pod("unallocated", usesClaim("open", { nodeName: "a" })),
      pod("nothing", usesClaim("nosuch", { nodeName: "a" })),
      pod("unreserved", usesClaim("c", { nodeName: "a" })),
      pod("unmade", usesTemplate("t", { nodeName: "a" })),
      template("t"),
      pod("ended", usesClaim("open", { nodeName: "a" }), {}, { status: { phase: "Succeeded" } }),
    ]);
    finds(
      objects,
      [bound("nothing"), bound("unallocated"), bound("unmade"), bound("unreserved")].map((line) =>
        line.replace("is bound on", "is bound on"),
      ),
      {
        evidence: /ResourceClaim open has no devices/,
        fix: "kubectl delete pod unallocated -n default",
      },
    );
    finds(
      cluster([held("c", allocation("b", "gpu-0"), ["p"])]),
      ["pod-without-devices: Pod default/p runs on node a without its devices"],
      { evidence: /the devices of ResourceClaim c are for other nodes than a/ },
    );
  });

  test("a claim that is reserved for the pod's group is the pod's", () => {
    const consumer = { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "g", uid: "group-g" };
    const shared = held("c", allocation("a", "gpu-0"), []);
    const reserved = { ...shared, status: { ...(shared["status"] as object), reservedFor: [consumer] } };
    const member = (group: string): readonly Manifest[] => {
      const spec = usesClaim("c", { nodeName: "a", schedulingGroup: { podGroupName: group } });
      return cluster([pod("p", spec, {}, { status: { phase: "Running" } }), reserved]);
    };
    finds(member("g"), []);
    finds(member("h"), ["pod-without-devices: Pod default/p runs on node a without its devices"]);
  });

  rule("leaked-reservation", () => {
    const leaked = held("c", allocation("a", "gpu-0"), ["gone", "p", "ended", "again"]);
    const objects = cluster([
      leaked,
      pod("ended", usesClaim("c"), { uid: uidOfPod("ended") }, { status: { phase: "Failed" } }),
      pod("again", usesClaim("c"), { uid: "another" }),
    ]);
    const patch = [
      { op: "test", path: "/status/reservedFor/3/uid", value: "pod-again" },
      { op: "remove", path: "/status/reservedFor/3" },
      { op: "test", path: "/status/reservedFor/2/uid", value: "pod-ended" },
      { op: "remove", path: "/status/reservedFor/2" },
      { op: "test", path: "/status/reservedFor/0/uid", value: "pod-gone" },
      { op: "remove", path: "/status/reservedFor/0" },
    ];
    finds(objects, ["leaked-reservation: ResourceClaim default/c is reserved for 3 pods that are gone"], {
      evidence:
        /reservedFor\[3\]: pod again \(uid pod-again\): the pod of this name is another one \(uid another\)/,
      fix: `kubectl patch resourceclaim c -n default --subresource=status --type=json -p '${JSON.stringify(patch)}'`,
    });
  });

  rule("orphaned-claim", () => {
    const owner = (uid: string): object => ({
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true }],
    });
    const made = (uid: string): Manifest =>
      held("c", allocation("a", "gpu-0"), ["p"], { metadata: owner(uid) });
    finds(cluster([made("pod-p")]), []);
    finds(
      cluster([made("older")]),
      ["orphaned-claim: ResourceClaim default/c was made for pod p, which is gone"],
      {
        evidence: /it has gpu\.example\.com\/a\/gpu-0/,
        fix: "kubectl delete resourceclaim c -n default",
      },
    );
  });

  rule("unused-allocation", () => {
    finds(
      cluster([held("c", allocation("a", "gpu-0"), [])], ["Pod p"]),
      ["unused-allocation: ResourceClaim default/c holds 1 device and is reserved for nobody"],
      {
        fix: `kubectl patch resourceclaim c -n default --subresource=status --type=json -p '[{"op":"remove","path":"/status/allocation"}]'`,
      },
    );
  });

  rule("unprotected-allocation", () => {
    finds(
      cluster([held("c", allocation("a", "gpu-0"), ["p"], { metadata: { finalizers: ["x.io/y"] } })]),
      [
        "unprotected-allocation: ResourceClaim default/c has devices and lacks the finalizer that protects them",
      ],
      {
        fix: `kubectl patch resourceclaim c -n default --type=merge -p '{"metadata":{"finalizers":["x.io/y","${protection}"]}}'`,
      },
    );
  });

  rule("finalizer-without-allocation", () => {
    const metadata = { name: "open", uid: "o", finalizers: [protection] };
    finds(cluster([claim("open", {}, { metadata })]), [
      "finalizer-without-allocation: ResourceClaim default/open has the finalizer of an allocation, and no devices",
    ]);
  });

  rule("claim-stuck-deleting", () => {
    const deleted = (deletionTimestamp: string, finalizers: readonly string[]): readonly Manifest[] =>
      cluster([claim("open", {}, { metadata: { name: "open", uid: "o", finalizers, deletionTimestamp } })]);
    finds(deleted("2026-01-01T11:59:30Z", ["x.io/y"]), []);
    finds(
      deleted("2026-01-01T11:50:00Z", ["x.io/y"]),
      ["claim-stuck-deleting: ResourceClaim default/open was deleted, is used by no pod, and is still there"],
      {
        evidence: /the component that has set x\.io\/y must remove it/,
      },
    );
  });

  rule("pod-stuck-terminating", () => {
    const gone = (deletionTimestamp: string, nodeName = "a", metadata: object = {}): readonly Manifest[] =>
      cluster([
        running("p", nodeName, "c", { deletionTimestamp, deletionGracePeriodSeconds: 30, ...metadata }),
      ]);
    finds(gone("2026-01-01T11:59:30Z"), []);
    const stuck = ["pod-stuck-terminating: Pod default/p is still there after its grace period"];
    finds(gone("2026-01-01T11:50:00Z"), stuck, {
      evidence: /it holds 1 device by 1 claim/,
      fix: "kubectl taint node a node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
    });
    finds(gone("2026-01-01T11:50:00Z", "lost"), stuck, {
      evidence: /node lost does not exist/,
      fix: "kubectl delete pod p -n default --force --grace-period=0",
    });
    finds(gone("2026-01-01T11:50:00Z", "a", { finalizers: ["x.io/y"] }), stuck, {
      evidence: /metadata\.finalizers: x\.io\/y/,
    });
  });
});

describe("slices and drivers", () => {
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
    finds(cluster([plugin("a", true), plugin("b", false)]), [message], {
      evidence: /not ready: default\/plugin-b/,
    });
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
      { around },
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
});

describe("classes and fields", () => {
  rule("device-plugin-beside-dra", () => {
    const withPlugin = node("a", { allocatable: { "nvidia.com/gpu": "2", "example.com/gpu": "1" } });
    finds(cluster([withPlugin]), []);
    const extended = {
      ...gpuClass,
      spec: { ...(gpuClass["spec"] as object), extendedResourceName: "example.com/gpu" },
    };
    finds(cluster([withPlugin, extended]), [
      "device-plugin-beside-dra: Node a offers example.com/gpu by a device plugin, and the same devices by driver gpu.example.com",
    ]);
    const nvidia = { ...gpuClass, metadata: { name: "gpu.nvidia.com" } };
    finds(cluster([withPlugin, nvidia]), [
      "device-plugin-beside-dra: Node a offers nvidia.com/gpu by a device plugin, and the same devices by driver gpu.example.com",
    ]);
  });

  rule("class-without-devices", () => {
    const other = {
      ...gpuClass,
      metadata: { name: "other" },
      spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.org"' } }] },
    };
    finds(cluster([other]), ["class-without-devices: DeviceClass other has no devices"], {
      evidence: /drivers that publish devices: gpu\.example\.com \(4 devices\)/,
    });
  });

  rule("missing-class", () => {
    finds(
      cluster([claim("open", { deviceClassName: "gpus" })]),
      ["missing-class: ResourceClaim default/open names DeviceClass gpus, which does not exist"],
      { evidence: /did you mean gpu\?/ },
    );
  });

  rule("dropped-field", () => {
    const applied = (spec: object): object => ({
      annotations: {
        "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({
          apiVersion: "resource.k8s.io/v1",
          kind: "DeviceClass",
          metadata: { name: "gpu" },
          spec,
        }),
      },
    });
    const given = { ...(gpuClass["spec"] as object), extendedResourceName: "example.com/gpu" };
    finds(cluster([{ ...gpuClass, metadata: { name: "gpu", uid: "g", ...applied(given) } }]), [
      "dropped-field: DeviceClass gpu lacks spec.extendedResourceName, which was applied",
    ]);
    finds(
      cluster([{ ...gpuClass, metadata: { name: "gpu", uid: "g", ...applied(gpuClass["spec"] as object) } }]),
      [],
    );
    const managedFields = [
      {
        manager: "helm",
        operation: "Apply",
        apiVersion: "resource.k8s.io/v1",
        fieldsType: "FieldsV1",
        fieldsV1: {
          "f:spec": {
            "f:devices": {
              "f:requests": {
                'k:{"name":"gpu"}': {
                  "f:exactly": { "f:count": {}, "f:selectors": {}, "f:tolerations": {} },
                },
              },
            },
          },
        },
      },
    ];
    const metadata = { name: "open", uid: "o", managedFields };
    finds(cluster([claim("open", { count: 1 }, { metadata })]), [
      "dropped-field: ResourceClaim default/open lacks spec.devices.requests[0].exactly.tolerations, which was applied",
    ]);
  });
});

test("every rule has a case", () => {
  assert.deepEqual([...tried].sort(), [...ruleIds].sort());
});

test("what cannot be read is not judged, and nothing is found by it", () => {
  const { objects } = worldOf(cluster([], ["Pod p"]));
  const world = new World(objects, new Set(["Pod"]));
  const snapshot = { world, features, now, events: undefined, server: undefined };
  const wanted = new Set<RuleId>([
    "leaked-reservation",
    "driver-not-registered",
    "versions-out-of-step",
    "stale-slice",
  ]);
  const { findings, notJudged } = diagnose(snapshot, wanted);
  assert.deepEqual(findings, []);
  assert.deepEqual(notJudged, [
    { rule: "leaked-reservation", why: "not all objects of kind Pod can be read" },
    {
      rule: "driver-not-registered",
      why: "not all objects of kind Event can be read, not all objects of kind Pod can be read",
    },
    { rule: "versions-out-of-step", why: "there is no server to ask" },
  ]);
});

test("what was there for a moment only does not count", () => {
  const look = (objects: readonly Manifest[]) =>
    diagnose({ world: worldOf(objects), features, now, events: [], server: undefined }, new Set(ruleIds));
  const leaked = look(cluster([], ["Pod p"]));
  assert.equal(leaked.findings.length, 1);
  assert.deepEqual(brief(confirmed(leaked, look(healthy)).findings), []);
  assert.deepEqual(brief(confirmed(look(healthy), leaked).findings), []);
  assert.equal(confirmed(leaked, leaked).findings.length, 1);
});

test("a person is shown 20 findings of a rule, and how many more there are", () => {
  const leaked = Array.from({ length: 25 }, (_, i) =>
    held(`leaked-${i}`, { devices: { results: [] } }, ["gone"]),
  );
  const world = worldOf(cluster(leaked));
  const snapshot = { world, features, now, events: [], server: undefined };
  const diagnosis = diagnose(snapshot, new Set<RuleId>(["leaked-reservation"]));
  const rights = { sufficient: [], missing: [] };
  const text = doctorText({ ...diagnosis, source: "test", kubernetesVersion: "1.37", rights });
  assert.equal(text.match(/^error: /gm)?.length, 20);
  assert.match(text, /^and 5 more of \[leaked-reservation\] \(-o json has all\)$/m);
  assert.match(text, /^25 errors in /m);
});
