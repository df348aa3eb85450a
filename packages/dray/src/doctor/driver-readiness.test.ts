import { test } from "node:test";
import type { Event } from "@dray/api/core/v1";
import { type Manifest, node, pod } from "../plan/testing.ts";
import { cluster, driverSet, finds, now, rule, uidOfPod } from "./testing.ts";

const event = (reason: string, uid: string, message: string): Event =>
  ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: reason, namespace: "gpu-system", uid: reason, resourceVersion: "1" },
    involvedObject: { namespace: "gpu-system", uid },
    reason,
    message,
    lastTimestamp: new Date(now - 60_000).toISOString(),
  }) as unknown as Event;

const container = (state: object, more: object = {}): object => ({
  containerStatuses: [
    { name: "plugin", image: "plugin", imageID: "", ready: false, restartCount: 0, state, ...more },
  ],
});
const waiting = (reason: string, message?: string): object => ({ waiting: { reason, message } });

rule("driver-not-ready", () => {
  const message = (which: string): string =>
    `driver-not-ready: DaemonSet gpu-system/gpus belongs to a driver, and ${which} not ready`;
  const crashes = container(waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"), {
    restartCount: 7,
    lastState: { terminated: { exitCode: 1, reason: "Error" } },
  });
  const failing = (status: object, nodes = ["a"]): readonly Manifest[] =>
    cluster(driverSet(nodes, { ready: "False", status }));
  const log = new Map([[`${uidOfPod("gpus-a")}/plugin`, "panic: no library libnvidia-ml.so.1"]]);
  finds(failing(crashes), [message("its pod is")], {
    around: { logs: log },
    evidence:
      /^pod gpus-a on node a: container plugin has ended with exit code 1, Error; restarts: 7; its last line: panic: no library libnvidia-ml.so.1$/,
    fix: "kubectl logs gpus-a -n gpu-system -c plugin --tail=50 --previous",
  });
  // Equal reasons of several pods are one line.
  finds(
    failing(container(waiting("ImagePullBackOff", 'Back-off pulling image "plugin:v9"')), ["a", "b"]),
    [message("2 of its 2 pods are")],
    {
      evidence:
        /^pod gpus-a on node a, pod gpus-b on node b: container plugin waits: ImagePullBackOff: Back-off pulling image "plugin:v9"$/,
      fix: "kubectl describe pod gpus-a -n gpu-system",
    },
  );
  // The image of a container that has run before is what is wrong now.
  finds(
    failing(
      container(waiting("ErrImagePull", "not found"), { lastState: { terminated: { exitCode: 137 } } }),
    ),
    [message("its pod is")],
    { evidence: /container plugin waits: ErrImagePull: not found$/ },
  );
  const runs = container({ running: { startedAt: "2026-01-01T11:00:00Z" } });
  finds(failing(runs), [message("its pod is")], {
    around: { events: [event("Unhealthy", uidOfPod("gpus-a"), "Readiness probe failed: 503")] },
    evidence: /container plugin runs and is not ready: Readiness probe failed: 503$/,
  });
  finds(failing(container(waiting("ContainerCreating"))), [message("its pod is")], {
    around: { events: [event("FailedMount", uidOfPod("gpus-a"), 'secret "tls" not found')] },
    evidence: /^pod gpus-a on node a: FailedMount: secret "tls" not found$/,
  });
  // It was ready for a moment in between.
  const moment = driverSet(["a"], { ready: "False", since: "2026-01-01T11:59:30Z", status: crashes });
  finds(cluster(moment), []);
  const created = (objects: readonly Manifest[]): Manifest[] =>
    objects.map((each) => ({
      ...each,
      metadata: { ...(each["metadata"] as object), creationTimestamp: "2026-01-01T11:00:00Z" },
    }));
  finds(cluster(created(moment)), [message("its pod is")]);
});

test("the pods of a driver that cannot be created, and a driver that no node is for", () => {
  const [set] = driverSet([]) as [Manifest];
  const refused = (text: string, fix: string): void =>
    finds(
      cluster([{ ...set, status: { desiredNumberScheduled: 2, currentNumberScheduled: 0 } }]),
      ["driver-not-ready: DaemonSet gpu-system/gpus belongs to a driver, and 2 pods of it cannot be created"],
      { around: { events: [event("FailedCreate", "set-gpus", text)] }, fix, evidence: /^FailedCreate: / },
    );
  refused(
    'Error creating: pods "gpus-" is forbidden: error looking up service account gpu-system/gpus: serviceaccount "gpus" not found',
    "kubectl create serviceaccount gpus -n gpu-system",
  );
  refused(
    'Error creating: pods "gpus-x" is forbidden: violates PodSecurity "restricted:latest": hostPath volumes',
    "kubectl label namespace gpu-system pod-security.kubernetes.io/enforce=privileged --overwrite",
  );
  refused("exceeded quota", "kubectl describe daemonset gpus -n gpu-system");
  const [picky] = driverSet([], { template: { nodeSelector: { "example.com/gpu": "yes" } } });
  finds(
    cluster([{ ...picky, status: { desiredNumberScheduled: 0, observedGeneration: 1 } }]),
    [
      "warning driver-not-ready: DaemonSet gpu-system/gpus belongs to a driver, and no node has the labels that it wants",
    ],
    {
      evidence: /its nodeSelector is example.com\/gpu=yes\nstatus.desiredNumberScheduled is 0 of 2 nodes/,
      fix: "kubectl get nodes -L example.com/gpu",
    },
  );
});

test("a rollout of a driver that has stopped is undone", () => {
  const old = driverSet(["b"], { revision: "one" });
  const fresh = driverSet(["a"], {
    ready: "False",
    revision: "two",
    status: container(waiting("ErrImagePull", "not found")),
  });
  finds(
    cluster([...old, ...fresh.slice(1)]),
    ["driver-not-ready: DaemonSet gpu-system/gpus belongs to a driver, and 1 of its 2 pods is not ready"],
    { fix: "kubectl rollout undo daemonset/gpus -n gpu-system" },
  );
});

test("controllers and webhooks that were installed with a driver belong to it", () => {
  const release = { "app.kubernetes.io/instance": "gpus" };
  const labelled = (objects: readonly Manifest[]): Manifest[] =>
    objects.map((each) => {
      const metadata = each["metadata"] as { labels?: object };
      return each["kind"] === "Pod"
        ? { ...each, metadata: { ...metadata, labels: { ...metadata.labels, ...release } } }
        : each;
    });
  const controller = (name: string, namespace = "gpu-system"): Manifest =>
    pod(
      `${name}-5d4-x`,
      { containers: [{ name: "main", image: "main" }] },
      {
        ...{ namespace, uid: name, creationTimestamp: "2026-01-01T11:00:00Z" },
        labels: { ...release, "pod-template-hash": "5d4" },
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${name}-5d4`, uid: "rs", controller: true },
        ],
      },
      {
        status: {
          phase: "Pending",
          conditions: [{ type: "PodScheduled", status: "False", message: "0/2 nodes are available" }],
        },
      },
    );
  const around = labelled(driverSet(["a", "b"]));
  finds(
    cluster([...around, node("a"), controller("control"), controller("elsewhere", "other")]),
    ["driver-not-ready: Deployment gpu-system/control belongs to a driver, and its pod is not ready"],
    {
      evidence: /^pod control-5d4-x: has no node: 0\/2 nodes are available$/,
      fix: "dray explain pod control-5d4-x -n gpu-system",
    },
  );
});
