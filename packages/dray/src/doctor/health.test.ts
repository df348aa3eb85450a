import type { Manifest } from "../plan/testing.ts";
import { allocation, pod, slice, usesClaim } from "../plan/testing.ts";
import { cluster, finds, held, rule, uidOfPod } from "./testing.ts";

/** The pod p, whose kubelet reports the health of its device. */
const reporting = (health: string): Manifest =>
  pod(
    "p",
    usesClaim("c", { nodeName: "a" }),
    { uid: uidOfPod("p") },
    {
      status: {
        phase: "Running",
        containerStatuses: [
          {
            name: "main",
            image: "main:v1",
            imageID: "",
            ready: true,
            restartCount: 0,
            allocatedResourcesStatus: [
              {
                name: "claim:gpu/gpu",
                resources: [{ resourceID: "gpu.example.com/a/gpu-0", health, message: "ecc errors" }],
              },
            ],
          },
        ],
      },
    },
  );

/** The devices of node a, the first of which has this taint. */
const tainted = (taint: object): Manifest =>
  slice("a", [{ name: "gpu-0", taints: [taint] }, { name: "gpu-1" }]);

rule("unhealthy-device-in-use", () => {
  const message =
    "unhealthy-device-in-use: ResourceClaim default/c has device gpu.example.com/a/gpu-0, which is unhealthy";
  finds(cluster([reporting("Healthy")]), []);
  finds(cluster([reporting("Unhealthy")]), [message], {
    evidence: /Unhealthy: ecc errors\n.*the next pod may get it again\npod default\/p uses it/,
    fix: "kubectl delete pod p -n default",
  });
  // Where the server has DeviceTaintRules, the device is kept from the next pod first.
  const server = { release: "1.37", served: ["v1"], taintRules: "v1beta2" };
  finds(cluster([reporting("Unhealthy")]), [message], {
    around: { server },
    fix: `echo '{"apiVersion":"resource.k8s.io/v1beta2","kind":"DeviceTaintRule","metadata":{"generateName":"unhealthy-gpu-0-"},"spec":{"deviceSelector":{"driver":"gpu.example.com","pool":"a","device":"gpu-0"},"taint":{"key":"doctor.dray.dev/unhealthy","effect":"NoSchedule"}}}' | kubectl create -f -`,
  });
  // By the convention of drivers that taint what is broken.
  finds(cluster([tainted({ key: "gpu.example.com/unhealthy", effect: "NoSchedule" })]), [message], {
    evidence: /taint gpu.example.com\/unhealthy:NoSchedule keeps other claims from it/,
  });
  // Nobody uses it.
  finds(
    cluster([
      tainted({ key: "gpu.example.com/unhealthy", effect: "NoSchedule" }),
      held("c", allocation("a", "gpu-1"), ["p"]),
    ]),
    [],
  );
});

rule("tainted-device-in-use", () => {
  const message =
    "tainted-device-in-use: ResourceClaim default/c has device gpu.example.com/a/gpu-0, which is tainted with effect NoExecute";
  const taint = { key: "repair", effect: "NoExecute", timeAdded: "2026-01-01T11:00:00Z" };
  const tolerating = (toleration: object): Manifest => {
    const [result] = (allocation("a", "gpu-0") as { devices: { results: object[] } }).devices.results;
    const devices = { results: [{ ...result, tolerations: [{ operator: "Exists", ...toleration }] }] };
    const exactly = { tolerations: [{ operator: "Exists", ...toleration }] };
    return held("c", { ...allocation("a", "gpu-0"), devices }, ["p"], { exactly });
  };
  const fix = "kubectl delete pod p -n default";
  const evidence =
    /its driver sets it, since .*\n.*does not tolerate it: the device taint eviction controller/;
  // The taint was there before the allocation, whose time is not known.
  finds(cluster([tainted(taint)]), [message], { evidence, fix });
  finds(cluster([tainted(taint), tolerating({ tolerationSeconds: 7200 })]), [message], {
    evidence: /tolerates it until 2026-01-01T13:00:00.000Z; then its pods are evicted/,
  });
  finds(cluster([tainted(taint), tolerating({})]), [`warning ${message}`], {
    evidence: /the claim tolerates it for ever/,
  });
  finds(cluster([tainted({ ...taint, effect: "NoSchedule" })]), []);
  const byRule: Manifest = {
    apiVersion: "resource.k8s.io/v1",
    kind: "DeviceTaintRule",
    metadata: { name: "repair" },
    spec: { deviceSelector: { pool: "a", device: "gpu-0" }, taint },
  };
  finds(cluster([byRule]), [message], { evidence: /DeviceTaintRule repair sets it/ });
});
