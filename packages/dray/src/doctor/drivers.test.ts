import type { Event } from "@dray/api/core/v1";
import { allocation, type Manifest, node, pod, slice, usesClaim } from "../plan/testing.ts";
import { cluster, driverSet, finds, held, now, rule, uidOfPod } from "./testing.ts";

const rbac = "rbac.authorization.k8s.io";

const role = (rules: readonly object[]): Manifest[] => [
  { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name: "gpus-dra-a" }, rules },
  {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: "gpus" },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "gpus-dra-a" },
    subjects: [{ kind: "ServiceAccount", name: "gpus", namespace: "gpu-system" }],
  },
];

const rights = (resources: string, ...verbs: readonly string[]): object => ({
  apiGroups: [resources === "nodes" ? "" : "resource.k8s.io"],
  resources: [resources],
  verbs,
});

rule("driver-without-devices", () => {
  const nodes = [node("c"), node("d")];
  const message =
    "driver-without-devices: DaemonSet gpu-system/gpus is a driver whose pods are ready, and publishes no devices";
  const silent = [...nodes, ...driverSet(["c", "d"])];
  finds(cluster(silent), [message], {
    around: { unreadable: ["ClusterRole"] },
    evidence:
      /2 pods of it are ready, on c, d: .*\n.*\nwhich rights service account gpu-system\/gpus has is not known/,
    fix: "kubectl logs daemonset/gpus -n gpu-system --all-containers --tail=50",
  });
  // The roles say which rights it lacks, and the commands give it these.
  const some = role([rights("resourceslices", "get", "list", "watch"), rights("resourceclaims", "*")]);
  finds(cluster([...silent, ...some]), [message], {
    evidence:
      /lacks the right to create, update, delete resourceslices.resource.k8s.io\n(.*\n)*.*lacks the right to get nodes/,
    fix: "kubectl create clusterrole gpus-dra-2-resourceslices --verb=create,update,delete --resource=resourceslices.resource.k8s.io",
  });
  const all = role([rights("resourceslices", "*"), rights("resourceclaims", "get"), rights("nodes", "get")]);
  finds(cluster([...silent, ...all]), [message], { evidence: /has the rights that a driver needs/ });
  // The API server's answer counts more than roles: other authorizers may give rights.
  const user = "system:serviceaccount:gpu-system:gpus";
  finds(cluster([...silent, ...some]), [message], {
    around: { lackingRights: new Map([[user, []]]) },
    evidence: /has the rights that a driver needs/,
  });
  // A driver that is not ready is another finding; one that is only just ready publishes later.
  finds(cluster([...nodes, ...driverSet(["c"], { ready: "False" })]), [
    "driver-not-ready: DaemonSet gpu-system/gpus belongs to a driver, and its pod is not ready",
  ]);
  finds(cluster([...nodes, ...driverSet(["c"], { since: "2026-01-01T11:59:30Z" })]), []);
  // The slices on its nodes cannot be its own, where it may not create any.
  finds(cluster([...nodes, ...driverSet(["a", "b", "c"]), ...some]), [message], {
    evidence: /the ResourceSlices of a, b, c are of other drivers: it may not create any/,
  });
  // It publishes on one of its nodes: the other has no such hardware.
  finds(cluster([...nodes, ...driverSet(["a", "b", "c"]), ...all]), []);
  // The slices there are of another driver, whose folder the pods of another set mount.
  const folder = (path: string): object => ({
    name: "own",
    hostPath: { path: `/var/lib/kubelet/plugins/${path}` },
  });
  const known = driverSet(["a", "b"], { name: "known", volumes: [folder("gpu.example.com")] });
  finds(cluster([...known, ...driverSet(["a"])]), [message]);
});

const event = (reason: string, about: object, message: string, more: object = {}): Event =>
  ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: reason, namespace: "default", uid: reason, resourceVersion: "1" },
    involvedObject: about,
    reason,
    message,
    count: 7,
    lastTimestamp: new Date(now - 60_000).toISOString(),
    ...more,
  }) as unknown as Event;

const aboutPod = (name: string): object => ({ kind: "Pod", namespace: "default", name, uid: uidOfPod(name) });

rule("prepare-failing", () => {
  const starting = (conditions: readonly object[] = []): Manifest =>
    pod(
      "waits",
      usesClaim("d", { nodeName: "a" }),
      { uid: uidOfPod("waits") },
      {
        status: { phase: "Pending", startTime: "2026-01-01T11:50:00Z", conditions },
      },
    );
  const objects = (waits: Manifest): readonly Manifest[] =>
    cluster([waits, held("d", allocation("a", "gpu-1"), ["waits"]), ...driverSet(["a", "b"])]);
  const failed = event("FailedPrepareDynamicResources", aboutPod("waits"), "prepare: no such profile");
  const message =
    "prepare-failing: Pod default/waits waits for its claims, which the kubelet of node a fails to prepare";
  finds(objects(starting()), [message], {
    around: { events: [failed] },
    evidence: /7 times, the last at .*: prepare: no such profile\nits devices are of driver gpu.example.com/,
    fix: "kubectl logs gpus-a -n gpu-system --all-containers --tail=50",
  });
  // It has succeeded since.
  const ready = [{ type: "PodReadyToStartContainers", status: "True" }];
  finds(objects(starting(ready)), [], { around: { events: [failed] } });
  const old = { ...failed, lastTimestamp: new Date(now - 20 * 60_000).toISOString() };
  finds(objects(starting()), [], { around: { events: [old] } });
});

rule("unprepare-failing", () => {
  const failed = (about: object): Event =>
    event("FailedUnprepareDynamicResources", about, "DRA driver gpu.example.com is not registered");
  const ends = pod("p", usesClaim("c", { nodeName: "a" }), {
    uid: uidOfPod("p"),
    deletionTimestamp: "2026-01-01T11:59:30Z",
    deletionGracePeriodSeconds: 30,
  });
  finds(
    cluster([ends]),
    ["unprepare-failing: Pod default/p has ended, and the kubelet of node a fails to unprepare its claims"],
    {
      around: { events: [failed(aboutPod("p"))] },
      evidence: /its devices are of driver gpu.example.com/,
      fix: "kubectl describe pod p -n default",
    },
  );
  finds(cluster([]), [], { around: { events: [failed(aboutPod("p"))] } });
  finds(cluster([]), ["unprepare-failing: Node a still has prepared claims of a pod that is gone"], {
    around: { events: [failed({ kind: "Node", name: "a" })] },
    fix: "kubectl get pods -A --field-selector=spec.nodeName=a -o wide",
  });
});

rule("pool-published-twice", () => {
  const shared = (nodeName: string, pool: object = {}, name = `${nodeName}-gpus`): Manifest =>
    slice(nodeName, 2, { name: "gpus", ...pool }, name);
  const message = (name: string): string =>
    `pool-published-twice: ResourceSlice ${name} pool gpu.example.com/gpus has several publishers`;
  // Drivers on two nodes name their pools alike; nothing else is said of the same slices.
  const without = ["Pod p", "ResourceClaim c"];
  finds(cluster([shared("a"), shared("b")], without), [message("a-gpus")], {
    evidence: /of node a: a-gpus \(generation 1, 1 of 1\)\nof node b: b-gpus/,
    fix: "kubectl get resourceslices --field-selector=spec.driver=gpu.example.com -o wide",
  });
  finds(cluster([shared("a", { generation: 3 }), shared("b")], without), [message("a-gpus")]);
  // Two sets of pods on one node.
  const twice = [
    shared("a"),
    shared("a", {}, "again"),
    ...driverSet(["a", "b"]),
    ...driverSet(["a"], { name: "old" }),
  ];
  finds(cluster(twice, without), [message("a-gpus")], {
    evidence:
      /has 2 slices and announces 1(.*\n)*pods of drivers on node a: gpu-system\/gpus-a, gpu-system\/old-a/,
  });
  // Two programs on one node; a person who has edited a slice is not a publisher.
  const by = (name: string, generation: number, ...managers: readonly string[]): Manifest => {
    const given = shared("a", { generation, resourceSliceCount: 2 }, name);
    const managedFields = managers.map((manager) => ({ manager, operation: "Update", apiVersion: "v1" }));
    return { ...given, metadata: { name, uid: name, managedFields } };
  };
  finds(cluster([by("a-gpus", 2, "old-driver"), by("b-gpus", 1, "driver")], without), [message("a-gpus")], {
    evidence: /written by old-driver: a-gpus .*\nwritten by driver: b-gpus/,
  });
  const edited = [by("a-gpus", 2, "driver"), by("b-gpus", 1, "driver", "kubectl-edit")];
  finds(cluster(edited, without), [
    "outdated-slice: ResourceSlice b-gpus belongs to an older generation of pool gpu.example.com/gpus",
    "pool-incomplete: ResourceSlice a-gpus pool gpu.example.com/gpus is incomplete: its slices say that generation 2 has 2 of them (resourceSliceCount), and 1 is given: a-gpus",
  ]);
  // One controller may publish the slices of several nodes in one pool.
  const one = { resourceSliceCount: 2 };
  finds(cluster([shared("a", one), shared("b", one)], without), []);
});
