import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { humanDuration, type KubeObject } from "@dray/api";
import type { Printer } from "../tables/column.ts";
import { type Cell, makeTable } from "../tables/index.ts";
import { plain } from "../tables/plain.ts";
import { servedKind } from "./registry.ts";

interface GroupKind {
  readonly group: string;
  readonly kind: string;
}
const printerOf = (kind: GroupKind): Printer<KubeObject> => servedKind(kind)?.columns ?? plain;
const rowCells = (kind: GroupKind, object: KubeObject, now: number): Cell[] =>
  printerOf(kind).cells(object, now);

const now = Date.parse("2026-01-02T00:00:00Z");
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString().replace(".000", "");

function object(kind: string, rest: object, metadata: object = {}): KubeObject {
  const meta = { name: "x", uid: "u", resourceVersion: "1", creationTimestamp: ago(90), ...metadata };
  return { apiVersion: "v1", kind, metadata: meta, ...rest };
}

const pod = { group: "", kind: "Pod" };
const podCells = (rest: object, metadata: object = {}): unknown[] =>
  rowCells(pod, object("Pod", rest, metadata), now).slice(0, 5);
const running = { running: {} };

describe("pods", () => {
  const spec = { containers: [{ name: "a" }, { name: "b" }] };
  test("columns are upstream's, the wide ones after the others", () => {
    assert.deepEqual(
      printerOf(pod).columns.map(({ name, priority }) => `${name}${priority}`),
      [
        "Name0",
        "Ready0",
        "Status0",
        "Restarts0",
        "Age0",
        "IP1",
        "Node1",
        "Nominated Node1",
        "Readiness Gates1",
      ],
    );
    assert.equal(printerOf(pod).columns[0]?.format, "name");
  });
  test("a new pod", () => {
    assert.deepEqual(podCells({ spec, status: { phase: "Pending" } }), ["x", "0/2", "Pending", "0", "90s"]);
  });
  test("READY counts ready containers; RESTARTS has the time of the last one", () => {
    const containerStatuses = [
      {
        name: "a",
        ready: true,
        restartCount: 2,
        state: running,
        lastState: { terminated: { finishedAt: ago(300) } },
      },
      { name: "b", ready: false, restartCount: 0, state: { waiting: { reason: "CrashLoopBackOff" } } },
    ];
    const cells = podCells({ spec, status: { phase: "Running", containerStatuses } });
    assert.deepEqual(cells, ["x", "1/2", "CrashLoopBackOff", "2 (5m ago)", "90s"]);
  });
  test("a container that ended without a reason shows its code or signal", () => {
    const status = (terminated: object): object => ({
      phase: "Running",
      containerStatuses: [{ name: "a", ready: false, restartCount: 0, state: { terminated } }],
    });
    assert.equal(podCells({ spec, status: status({ exitCode: 3 }) })[2], "ExitCode:3");
    assert.equal(podCells({ spec, status: status({ exitCode: 137, signal: 9 }) })[2], "Signal:9");
    assert.equal(podCells({ spec, status: status({ exitCode: 1, reason: "Error" }) })[2], "Error");
  });
  test("completed beside one that runs", () => {
    const containerStatuses = [
      {
        name: "a",
        ready: false,
        restartCount: 0,
        state: { terminated: { exitCode: 0, reason: "Completed" } },
      },
      { name: "b", ready: true, restartCount: 0, state: running },
    ];
    assert.equal(podCells({ spec, status: { phase: "Running", containerStatuses } })[2], "NotReady");
    const conditions = [{ type: "Ready", status: "True" }];
    assert.equal(
      podCells({ spec, status: { phase: "Running", containerStatuses, conditions } })[2],
      "Running",
    );
  });
  test("init containers come first, sidecars stay", () => {
    const initContainers = [{ name: "i" }, { name: "s", restartPolicy: "Always" }, { name: "j" }];
    const withInit = { ...spec, initContainers };
    const done = { name: "i", restartCount: 1, state: { terminated: { exitCode: 0 } } };
    const sidecar = { name: "s", restartCount: 0, started: true, ready: true, state: running };
    const statuses = (...initContainerStatuses: object[]): object => ({
      phase: "Pending",
      initContainerStatuses,
    });
    assert.deepEqual(
      podCells({ spec: withInit, status: statuses(done, sidecar, { name: "j", state: running }) }),
      ["x", "1/3", "Init:2/3", "1", "90s"],
    );
    const failed = { name: "i", restartCount: 0, state: { terminated: { exitCode: 2 } } };
    assert.equal(podCells({ spec: withInit, status: statuses(failed) })[2], "Init:ExitCode:2");
    const held = { name: "i", state: { waiting: { reason: "ImagePullBackOff" } } };
    assert.equal(podCells({ spec: withInit, status: statuses(held) })[2], "Init:ImagePullBackOff");
  });
  test("gates, reasons and deletion", () => {
    const conditions = [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }];
    assert.equal(podCells({ spec, status: { phase: "Pending", conditions } })[2], "SchedulingGated");
    assert.equal(podCells({ spec, status: { phase: "Failed", reason: "Evicted" } })[2], "Evicted");
    const deleted = { deletionTimestamp: ago(1) };
    assert.equal(podCells({ spec, status: { phase: "Running" } }, deleted)[2], "Terminating");
    assert.equal(podCells({ spec, status: { phase: "Succeeded" } }, deleted)[2], "Succeeded");
    assert.equal(podCells({ spec, status: { phase: "Running", reason: "NodeLost" } }, deleted)[2], "Unknown");
  });
});

describe("claims", () => {
  const claim = { group: "resource.k8s.io", kind: "ResourceClaim" };
  const table: readonly [status: object, deleted: boolean, state: string][] = [
    [{}, false, "pending"],
    [{ allocation: {} }, false, "allocated"],
    [{ allocation: {}, reservedFor: [{ name: "p" }] }, false, "allocated,reserved"],
    [{}, true, "deleted"],
    [{ allocation: {}, reservedFor: [{ name: "p" }] }, true, "deleted,allocated,reserved"],
  ];
  for (const [status, deleted, state] of table) {
    test(state, () => {
      const metadata = deleted ? { deletionTimestamp: ago(1) } : {};
      assert.deepEqual(rowCells(claim, object("ResourceClaim", { status }, metadata), now), [
        "x",
        state,
        "90s",
      ]);
    });
  }
});

describe("kinds with cells of their own", () => {
  const cells = (kind: string, group: string, rest: object): unknown[] =>
    rowCells({ group, kind }, object(kind, rest), now);
  test("an ingress counts all its rules once one is behind the third host", () => {
    const hosts = (...names: readonly string[]): unknown =>
      cells("Ingress", "networking.k8s.io", { spec: { rules: names.map((host) => ({ host })) } })[2];
    assert.equal(hosts("a", "", "b", "c"), "a,b,c");
    assert.equal(hosts("a", "b", "c", ""), "a,b,c + 1 more...");
    assert.equal(hosts(""), "*");
  });
  test("endpoints have a port for each address", () => {
    const subsets = [
      { addresses: [{ ip: "192.0.2.1" }, { ip: "2001:db8::1" }], ports: [{ port: 1 }, { port: 2 }] },
    ];
    assert.equal(
      cells("Endpoints", "", { subsets })[1],
      "192.0.2.1:1,[2001:db8::1]:1,192.0.2.1:2 + 1 more...",
    );
    assert.equal(cells("Endpoints", "", {})[1], "<none>");
  });
  test("an address tells whose it is", () => {
    const parentRef = { group: "Apps", resource: "Deployments", namespace: "n", name: "X" };
    assert.equal(cells("IPAddress", "networking.k8s.io", { spec: { parentRef } })[1], "deployments.apps/n/X");
    assert.equal(cells("ServiceCIDR", "networking.k8s.io", { spec: { cidrs: ["a", "b"] } })[1], "a,b");
  });
  test("an autoscaler tells of two metrics", () => {
    const target = { type: "Utilization", averageUtilization: 50 };
    const metric = { type: "Resource", resource: { name: "cpu", target } };
    const current = { resource: { current: { averageUtilization: 7 } } };
    const spec = {
      scaleTargetRef: { kind: "D", name: "d" },
      metrics: [metric, metric, metric],
      maxReplicas: 3,
    };
    assert.deepEqual(
      cells("HorizontalPodAutoscaler", "autoscaling", { spec, status: { currentMetrics: [current] } }).slice(
        1,
        6,
      ),
      ["D/d", "cpu: 7%/50%, cpu: <unknown>/50% + 1 more...", "<unset>", 3, 0],
    );
  });
  test("a volume shows modes in a fixed order, and the class of old times first", () => {
    const spec = { accessModes: ["ReadWriteMany", "ReadWriteOnce"], storageClassName: "new" };
    const annotations = { "volume.beta.kubernetes.io/storage-class": "old" };
    const volume = object("PersistentVolume", { spec }, { annotations });
    assert.deepEqual(rowCells({ group: "", kind: "PersistentVolume" }, volume, now).slice(1, 8), [
      "0",
      "RWO,RWX",
      "",
      "",
      "",
      "old",
      "<unset>",
    ]);
  });
});

test("a node's state, roles and software", () => {
  const labels = { "node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "" };
  const status = {
    conditions: [{ type: "Ready", status: "True" }],
    nodeInfo: { kubeletVersion: "v1.37.0", osImage: "Debian" },
    addresses: [{ type: "InternalIP", address: "127.0.0.2" }],
  };
  const node = object("Node", { spec: { unschedulable: true }, status }, { labels });
  assert.deepEqual(rowCells({ group: "", kind: "Node" }, node, now), [
    "x",
    "Ready,SchedulingDisabled",
    "control-plane,worker",
    "90s",
    "v1.37.0",
    "127.0.0.2",
    "<none>",
    "Debian",
    "<unknown>",
    "<unknown>",
  ]);
});

test("a daemon set tells its numbers, images and selector", () => {
  const spec = {
    selector: { matchLabels: { app: "x" } },
    template: { spec: { containers: [{ name: "c", image: "i:1" }] } },
  };
  const status = {
    desiredNumberScheduled: 2,
    currentNumberScheduled: 2,
    numberReady: 1,
    updatedNumberScheduled: 2,
  };
  const cells = rowCells({ group: "apps", kind: "DaemonSet" }, object("DaemonSet", { spec, status }), now);
  assert.deepEqual(cells, ["x", 2, 2, 1, 2, 0, "<none>", "90s", "c", "i:1", "app=x"]);
});

test("an event has its object and its age", () => {
  const event = object("Event", {
    type: "Normal",
    reason: "Tested",
    message: " m\n",
    involvedObject: { kind: "Pod", name: "p" },
    source: { component: "kubelet", host: "n1" },
    firstTimestamp: ago(600),
    lastTimestamp: ago(60),
    count: 3,
  });
  assert.deepEqual(rowCells({ group: "", kind: "Event" }, event, now), [
    "60s",
    "Normal",
    "Tested",
    "pod/p",
    "",
    "kubelet, n1",
    "m",
    "10m",
    3,
    "x",
  ]);
});

test("ages have two or three digits", () => {
  const minute = 60;
  const hour = 60 * minute;
  const day = 24 * hour;
  const table: readonly [seconds: number, text: string][] = [
    [-5, "<invalid>"],
    [-1, "0s"],
    [119, "119s"],
    [2 * minute, "2m"],
    [2 * minute + 5, "2m5s"],
    [179 * minute, "179m"],
    [3 * hour + 5 * minute, "3h5m"],
    [47 * hour, "47h"],
    [2 * day, "2d"],
    [7 * day + 23 * hour, "7d23h"],
    [8 * day + 23 * hour, "8d"],
    [729 * day, "729d"],
    [2 * 365 * day, "2y"],
    [3 * 365 * day + 2 * day, "3y2d"],
    [9 * 365 * day, "9y"],
  ];
  assert.deepEqual(
    table.map(([seconds]) => humanDuration(seconds * 1000)),
    table.map(([, text]) => text),
  );
});

describe("a Table", () => {
  const one = object("ConfigMap", { data: { a: "b" } });
  const kind = { group: "", kind: "ConfigMap" };
  const request = { printer: printerOf(kind), objects: [one], listMeta: { resourceVersion: "7" }, now };
  test("carries metadata, the object, or nothing", () => {
    const rowOf = (includeObject: "Metadata" | "Object" | "None"): unknown =>
      makeTable({ ...request, includeObject }).rows?.[0];
    const cells = ["x", 1, "90s"];
    const metadata = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: one.metadata };
    assert.deepEqual(rowOf("Metadata"), { cells, object: metadata });
    assert.deepEqual(rowOf("Object"), { cells, object: one });
    assert.deepEqual(rowOf("None"), { cells, object: null });
  });
  test("leaves its columns out of the later events of a watch", () => {
    const first = makeTable({ ...request, includeObject: "None" });
    const later = makeTable({ ...request, includeObject: "None", omitColumns: true, version: "v1beta1" });
    assert.deepEqual(
      [first.kind, first.apiVersion, first.columnDefinitions?.length],
      ["Table", "meta.k8s.io/v1", 3],
    );
    assert.deepEqual([later.apiVersion, later.columnDefinitions], ["meta.k8s.io/v1beta1", null]);
  });
  test("marks pods that have ended", () => {
    const ended = object("Pod", { spec: { containers: [] }, status: { phase: "Succeeded" } });
    const row = makeTable({ ...request, printer: printerOf(pod), objects: [ended], includeObject: "None" })
      .rows?.[0];
    assert.equal(row?.conditions?.[0]?.reason, "Succeeded");
  });
  test("of an unknown kind shows names and ages", () => {
    assert.deepEqual(rowCells({ group: "example.com", kind: "Gadget" }, one, now), ["x", "90s"]);
  });
});

// Upstream: pkg/printers/internalversion/printers.go, printPodGroup, printCompositePodGroup.
test("a group tells its policy, its workload, and whether its pods have nodes", () => {
  const cells = (spec: object, ...conditions: object[]): unknown[] =>
    rowCells(
      { group: "scheduling.k8s.io", kind: "PodGroup" },
      object("PodGroup", { spec, status: { conditions } }),
      now,
    );
  const scheduled = (status: string) => ({ type: "PodGroupInitiallyScheduled", status, reason: "R" });
  const gang = { schedulingPolicy: { gang: { minCount: 2 } } };
  assert.deepEqual(cells(gang), ["x", "Gang", "<none>", "Pending", "90s"]);
  const made = { schedulingPolicy: { basic: {} }, workloadRef: { workloadName: "w", templateName: "t" } };
  assert.deepEqual(cells(made, scheduled("True")), ["x", "Basic", "w", "Scheduled", "90s"]);
  assert.equal(cells(gang, scheduled("False"))[3], "Unschedulable");
  assert.equal(
    cells(gang, scheduled("True"), { type: "DisruptionTarget", status: "True", reason: "Gone" })[3],
    "Gone",
  );
  assert.deepEqual(
    rowCells(
      { group: "scheduling.k8s.io", kind: "CompositePodGroup" },
      object("CompositePodGroup", { spec: { schedulingPolicy: { gang: { minGroupCount: 1 } } } }),
      now,
    ),
    ["x", "Gang", "<none>", "90s"],
  );
});
