import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod } from "../../../generated/core/v1.ts";
import { featuresOf, type KubernetesVersion } from "../../../index.ts";
import { type ValidationContext, validateStatusUpdate } from "../../../validation/index.ts";

const kind = { group: "", kind: "Pod" };

function podOf(
  restartPolicy: string,
  containers: readonly Container[],
  states: Record<string, object>,
  initContainers: readonly Container[] = [],
): Pod {
  const statuses = (all: readonly Container[]): object[] =>
    all.flatMap(({ name }) =>
      states[name]
        ? [{ name, state: states[name], image: "i", imageID: "", ready: false, restartCount: 0 }]
        : [],
    );
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
    spec: { restartPolicy, containers, initContainers },
    status: {
      phase: "Running",
      qosClass: "BestEffort",
      containerStatuses: statuses(containers),
      initContainerStatuses: statuses(initContainers),
    },
  } as unknown as Pod;
}

const ended = (exitCode: number): object => ({ terminated: { exitCode } });
const running = { running: {} };

test("a container that ended runs again only where its rules or policies restart it", () => {
  const rules = [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }];
  const table: [pod: string, container: Partial<Container>, exitCode: number, allowed: boolean][] = [
    ["Always", {}, 0, true],
    ["Never", {}, 1, false],
    ["OnFailure", {}, 0, false],
    ["OnFailure", {}, 1, true],
    ["Never", { restartPolicy: "Never", restartPolicyRules: rules }, 42, true],
    ["Never", { restartPolicy: "Never", restartPolicyRules: rules }, 1, false],
    ["Always", { restartPolicy: "Never" }, 1, false],
    ["Never", { restartPolicy: "Always" }, 0, true],
  ];
  for (const [policy, more, exitCode, allowed] of table) {
    const container = { name: "c", ...more } as Container;
    for (const init of [false, true]) {
      const lists = init ? ([[], [container]] as const) : ([[container], []] as const);
      const at = (state: object): Pod => podOf(policy, lists[0], { c: state }, lists[1]);
      const context = { features: featuresOf("1.37") } as ValidationContext;
      const errors = validateStatusUpdate(kind, at(running), at(ended(exitCode)), context);
      const path = `status.${init ? "initC" : "c"}ontainerStatuses[0].state`;
      assert.deepEqual(
        errors.map((error) => [error.path, error.detail]),
        allowed ? [] : [[path, "may not be transitioned to non-terminated state"]],
        JSON.stringify([policy, more, exitCode, init]),
      );
    }
  }
});

test("one rule to restart all containers lets each of them run again, from 1.36 on", () => {
  const all: Container = {
    name: "all",
    restartPolicy: "Never",
    restartPolicyRules: [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [7] } }],
  };
  const other: Container = { name: "other" };
  const count = (version: KubernetesVersion): number => {
    const at = (state: object): Pod => podOf("Never", [all, other], { other: state });
    const context = { features: featuresOf(version) } as ValidationContext;
    return validateStatusUpdate(kind, at(running), at(ended(0)), context).length;
  };
  assert.deepEqual([count("1.35"), count("1.36")], [1, 0]);
});

test("the message of a device's health has at most 1024 bytes", () => {
  const container = { name: "c", resources: { claims: [{ name: "gpu" }] } } as Container;
  const withMessage = (message: string): Pod => {
    const pod = podOf("Always", [container], { c: running });
    Object.assign(pod.status?.containerStatuses?.[0] ?? {}, {
      allocatedResourcesStatus: [
        { name: "claim:gpu", resources: [{ resourceID: "a", health: "Unhealthy", message }] },
      ],
    });
    return pod;
  };
  const context = { features: featuresOf("1.37") } as ValidationContext;
  for (const [message, details] of [
    ["x".repeat(1024), []],
    ["é".repeat(513), ["may not be more than 1024 bytes"]],
  ] as const) {
    const errors = validateStatusUpdate(
      kind,
      withMessage(message),
      podOf("Always", [container], { c: running }),
      context,
    );
    assert.deepEqual(
      errors.map(({ detail }) => detail),
      details,
    );
  }
});
