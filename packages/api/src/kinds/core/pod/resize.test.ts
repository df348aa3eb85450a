import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../../generated/core/v1.ts";
import { featuresOf, type KubernetesVersion } from "../../../index.ts";
import { type ValidationContext, viewValidation } from "../../../validation/index.ts";

const resources = (cpu: string, more: object = {}) => ({ requests: { cpu }, limits: { cpu: "2" }, ...more });
const claims = [{ name: "gpu", request: "gpu" }];

function podOf(spec: object, status: object = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "p",
      namespace: "default",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: {
      restartPolicy: "Always",
      terminationGracePeriodSeconds: "30",
      dnsPolicy: "ClusterFirst",
      resourceClaims: [{ name: "gpu", resourceClaimName: "gpu" }],
      ...spec,
    },
    status,
  } as unknown as Pod;
}

const container = (given: object, more: object = {}) => ({
  name: "c",
  image: "i",
  imagePullPolicy: "Always",
  terminationMessagePolicy: "File",
  resources: given,
  ...more,
});
const withMain = (given: object, status?: object): Pod => podOf({ containers: [container(given)] }, status);

function refusals(now: Pod, old: Pod, version: KubernetesVersion): string[] {
  const context = { features: featuresOf(version) } as ValidationContext;
  const errors = viewValidation({ group: "", kind: "Pod" }, "resize")?.(now, old, context) ?? [];
  return errors.map(({ path, detail }) => `${path}: ${detail}`);
}

const onlyComputed = "spec: only cpu and memory resources are mutable";

test("containers with claims can be resized from 1.37 on", () => {
  const [now, old] = ["2", "1"].map((cpu) => withMain(resources(cpu, { claims })));
  assert.deepEqual(refusals(now!, old!, "1.36"), [onlyComputed]);
  assert.deepEqual(refusals(now!, old!, "1.37"), []);
});

test("a resize does not change claims", () => {
  const old = withMain(resources("1", { claims }));
  for (const changed of [[], [{ name: "gpu" }], [...claims, { name: "gpu", request: "other" }]]) {
    const more = changed.length === 0 ? {} : { claims: changed };
    assert.deepEqual(refusals(withMain(resources("2", more)), old, "1.37"), [onlyComputed]);
  }
  assert.deepEqual(refusals(old, withMain(resources("1")), "1.37"), [onlyComputed]);
});

test("1.36 refuses pods whose claims have node-allocatable resources", () => {
  const status = { nodeAllocatableResourceClaimStatuses: [{ resourceClaimName: "gpu" }] };
  const [now, old] = ["2", "1"].map((cpu) => withMain(resources(cpu), status));
  const refused = ["spec: pods with node allocatable resource claims cannot be resized"];
  assert.deepEqual(refusals(now!, old!, "1.36"), refused);
  assert.deepEqual(refusals(now!, old!, "1.37"), []);
});

test("init containers: sidecars with claims from 1.37 on, others from 1.36 on if nothing restarts", () => {
  const refused = (cpu: string, more: object, version: KubernetesVersion): string[] => {
    const withInit = (amount: string, given: object): Pod =>
      podOf({
        containers: [container(resources("1"))],
        initContainers: [{ ...container(resources(amount, given)), name: "i", ...more }],
      });
    return refusals(withInit(cpu, { claims }), withInit("1", { claims }), version);
  };
  const sidecar = { restartPolicy: "Always" };
  const here = "spec.initContainers[0]";
  const claimsDiffer = `${here}: only cpu and memory resources for init or sidecar containers are mutable`;
  assert.deepEqual(refused("2", sidecar, "1.36"), [claimsDiffer]);
  assert.deepEqual(refused("2", sidecar, "1.37"), []);
  assert.deepEqual(refused("2", {}, "1.35"), [
    "spec: resources for non-sidecar init containers are immutable",
  ]);
  assert.deepEqual(refused("2", {}, "1.37"), []);
});
