import { test } from "node:test";
import { allocation, claim, type Manifest, pod, template, usesClaim, usesTemplate } from "../plan/testing.ts";
import { cluster, finds, held, protection, rule, running, uidOfPod } from "./testing.ts";

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
    ["unused-allocation: ResourceClaim default/c holds 1 device and is reserved for no pod"],
    {
      fix: `kubectl patch resourceclaim c -n default --subresource=status --type=json -p '[{"op":"remove","path":"/status/allocation"}]'`,
    },
  );
  // The finalizer alone would be the next finding.
  finds(
    cluster([held("c", allocation("a", "gpu-0"), [])], ["Pod p"]),
    ["unused-allocation: ResourceClaim default/c holds 1 device and is reserved for no pod"],
    {
      fix: `kubectl patch resourceclaim c -n default --type=json -p '[{"op":"test","path":"/metadata/finalizers/0","value":"${protection}"},{"op":"remove","path":"/metadata/finalizers/0"}]'`,
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
