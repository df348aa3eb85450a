import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod } from "../generated/core/v1.ts";
import {
  createdPodClaims,
  hasClaims,
  isPodActive,
  isPodReady,
  isPodTerminal,
  isSidecar,
  podClaimName,
  podClaims,
  restartsAfter,
  sidecarsOf,
} from "./index.ts";

const podOf = (phase: string | undefined, deletionTimestamp?: string): Pod =>
  ({
    metadata: { name: "p", ...(deletionTimestamp && { deletionTimestamp }) },
    ...(phase !== undefined && { status: { phase } }),
  }) as unknown as Pod;

test("terminal and active pods", () => {
  const table: [phase: string | undefined, terminal: boolean][] = [
    [undefined, false],
    ["", false],
    ["Pending", false],
    ["Running", false],
    ["Unknown", false],
    ["Succeeded", true],
    ["Failed", true],
  ];
  for (const [phase, terminal] of table) {
    assert.equal(isPodTerminal(podOf(phase)), terminal, phase);
    assert.equal(isPodActive(podOf(phase)), !terminal, phase);
    assert.equal(isPodActive(podOf(phase, "2026-01-01T00:00:00Z")), false, phase);
  }
});

test("the first Ready condition says whether a pod is ready", () => {
  const ready = (...statuses: string[]): boolean =>
    isPodReady({
      status: {
        conditions: [
          { type: "Initialized", status: "True" },
          ...statuses.map((status) => ({ type: "Ready", status })),
        ],
      },
    });
  assert.equal(ready(), false);
  assert.equal(ready("True"), true);
  assert.equal(ready("Unknown"), false);
  assert.equal(ready("False", "True"), false);
});

test("only init containers with the policy Always are sidecars", () => {
  const rules = [{ action: "Restart", exitCodes: { operator: "In", values: [1] } }];
  const init: Container[] = [
    { name: "plain" },
    { name: "always", restartPolicy: "Always" },
    { name: "on-failure", restartPolicy: "OnFailure" },
    { name: "never", restartPolicy: "Never", restartPolicyRules: rules },
    { name: "rules", restartPolicyRules: rules },
  ];
  assert.deepEqual(
    init.filter(isSidecar).map(({ name }) => name),
    ["always"],
  );
  const containers: Container[] = [{ name: "main", restartPolicy: "Always" }];
  assert.deepEqual(sidecarsOf({ initContainers: init, containers } as Pod["spec"]), [init[1]]);
  assert.deepEqual(sidecarsOf({}), []);
});

test("a container restarts by its rules, then its own policy, then the pod's", () => {
  const on = (operator: string, ...values: number[]) => ({
    action: "Restart",
    exitCodes: { operator, values },
  });
  const table: [pod: string | undefined, container: Partial<Container>, restartsAfter: number[]][] = [
    [undefined, {}, [0, 1, 42]],
    ["Always", {}, [0, 1, 42]],
    ["OnFailure", {}, [1, 42]],
    ["Never", {}, []],
    ["Always", { restartPolicy: "Never" }, []],
    ["Never", { restartPolicy: "Always" }, [0, 1, 42]],
    ["Never", { restartPolicy: "OnFailure" }, [1, 42]],
    ["Never", { restartPolicy: "Never", restartPolicyRules: [on("In", 42)] }, [42]],
    ["Never", { restartPolicy: "Never", restartPolicyRules: [on("NotIn", 42)] }, [0, 1]],
    // Rules without a policy do nothing; validation refuses them.
    ["Never", { restartPolicyRules: [on("In", 42)] }, []],
    // The first rule that matches counts, with any action.
    [
      "Never",
      {
        restartPolicy: "Never",
        restartPolicyRules: [{ ...on("In", 42), action: "RestartAllContainers" }, on("In", 1, 42)],
      },
      [1],
    ],
    ["OnFailure", { restartPolicy: "Other" }, [1, 42]],
  ];
  for (const [restartPolicy, container, expected] of table) {
    const spec = restartPolicy === undefined ? {} : { restartPolicy };
    assert.deepEqual(
      [0, 1, 42].filter((code) => restartsAfter(spec, container, code)),
      expected,
      JSON.stringify([restartPolicy, container]),
    );
  }
});

test("the claim of a pod: named, not created yet, created, not needed", () => {
  const entry = { name: "gpu", resourceClaimTemplateName: "template" };
  const status = (...resourceClaimStatuses: { name: string; resourceClaimName?: string }[]) => ({
    status: { resourceClaimStatuses },
  });
  assert.equal(podClaimName({}, { name: "gpu", resourceClaimName: "mine" }), "mine");
  assert.equal(podClaimName({}, entry), undefined);
  assert.equal(podClaimName(status({ name: "other", resourceClaimName: "x" }), entry), undefined);
  assert.equal(podClaimName(status({ name: "gpu", resourceClaimName: "p-gpu-1" }), entry), "p-gpu-1");
  assert.equal(podClaimName(status({ name: "gpu" }), entry), null);
});

test("the claims of a pod: its entries, created or not, and that of its extended resources", () => {
  const pod = {
    spec: {
      resourceClaims: [
        { name: "own", resourceClaimName: "shared" },
        { name: "made", resourceClaimTemplateName: "t" },
        { name: "later", resourceClaimTemplateName: "t" },
        { name: "none", resourceClaimTemplateName: "t" },
      ],
    },
    status: {
      resourceClaimStatuses: [{ name: "made", resourceClaimName: "p-made-1" }, { name: "none" }],
      extendedResourceClaimStatus: { resourceClaimName: "p-extended-1", requestMappings: [] },
    },
  };
  assert.deepEqual(
    podClaims(pod).map(({ entry, name, owned }) => [entry?.name, name, owned]),
    [
      ["own", "shared", false],
      ["made", "p-made-1", true],
      ["later", undefined, true],
      ["none", null, true],
      [undefined, "p-extended-1", true],
    ],
  );
  assert.deepEqual(
    createdPodClaims(pod).map(({ name }) => name),
    ["shared", "p-made-1", "p-extended-1"],
  );
  assert.equal(hasClaims({ spec: {}, status: pod.status }), true);
  assert.equal(hasClaims({ spec: pod.spec }), true);
  assert.equal(hasClaims({ spec: { resourceClaims: [] } }), false);
});
