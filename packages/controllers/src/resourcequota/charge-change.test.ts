import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@dray/api";
import { type QuotaLookup, quotaEvaluators } from "@dray/api/quota";
import { changesCount, isChangeable } from "./charge-change.ts";

const lookup: QuotaLookup = {
  version: "1.37",
  deviceClasses: () => [],
  pod: () => undefined,
  claims: () => [],
  now: () => 0,
};
const evaluatorOf = quotaEvaluators(lookup, { extendedResources: true });

const pod = (more: { metadata?: object; spec?: object; status?: object }): object => ({
  metadata: { name: "p", namespace: "d", ...more.metadata },
  spec: { containers: [{ name: "c", resources: { requests: { cpu: "1" } } }], ...more.spec },
  status: { phase: "Running", ...more.status },
});
const volumeClaim = (storage: string, status: object = {}): object => ({
  metadata: { name: "c", namespace: "d" },
  spec: { resources: { requests: { storage } } },
  status,
});
const service = (type: string, more: object = {}): object => ({
  metadata: { name: "s", namespace: "d", ...more },
  spec: { type, ports: [{ port: 1 }] },
});

const changes: readonly [what: string, resource: string, old: object, now: object, counts: boolean][] = [
  ["the status of a pod", "pods", pod({}), pod({ status: { podIP: "10.0.0.1" } }), false],
  ["labels of a pod", "pods", pod({}), pod({ metadata: { labels: { a: "b" } } }), false],
  ["the end of a pod", "pods", pod({}), pod({ status: { phase: "Failed" } }), true],
  ["a deadline of a pod", "pods", pod({}), pod({ spec: { activeDeadlineSeconds: 5 } }), true],
  [
    "the claim of a pod for extended resources",
    "pods",
    pod({}),
    pod({ status: { extendedResourceClaimStatus: { resourceClaimName: "c", requestMappings: [] } } }),
    true,
  ],
  [
    "labels of a service",
    "services",
    service("NodePort"),
    service("NodePort", { labels: { a: "b" } }),
    false,
  ],
  ["the type of a service", "services", service("NodePort"), service("ClusterIP"), true],
  [
    "the phase of a volume claim",
    "persistentvolumeclaims",
    volumeClaim("1Gi"),
    volumeClaim("1Gi", { phase: "Bound" }),
    false,
  ],
  ["the size of a volume claim", "persistentvolumeclaims", volumeClaim("1Gi"), volumeClaim("2Gi"), true],
  [
    "the class of a volume claim",
    "persistentvolumeclaims",
    volumeClaim("1Gi"),
    volumeClaim("1Gi", { currentVolumeAttributesClassName: "fast" }),
    true,
  ],
];

for (const [what, resource, old, now, counts] of changes)
  test(`${what} ${counts ? "is" : "is not"} a reason to count`, () => {
    const evaluator = evaluatorOf("", resource);
    assert.ok(evaluator !== undefined && isChangeable(resource));
    assert.equal(changesCount(resource, evaluator, now as KubeObject, old as KubeObject), counts);
  });

test("an update never changes the charge of an object that only counts", () => {
  assert.equal(isChangeable("configmaps"), false);
});
