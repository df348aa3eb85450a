import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import { mergeLabelKeys, takeAppArmorAnnotations } from "./preparation.ts";

const pod = (metadata: object, spec: object): Pod =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", ...metadata },
    spec: { containers: [{ name: "c" }], ...spec },
  }) as Pod;

test("label keys become requirements of the selectors beside them", () => {
  const term = { topologyKey: "k", labelSelector: { matchLabels: { a: "b" } } };
  const made = pod(
    { labels: { v: "1" } },
    {
      topologySpreadConstraints: [
        { matchLabelKeys: ["v", "absent"], labelSelector: {} },
        { matchLabelKeys: ["v"] },
      ],
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { ...term, mismatchLabelKeys: ["v"] } },
          ],
        },
      },
    },
  );
  mergeLabelKeys(made);
  const expression = (operator: string): object => ({ key: "v", operator, values: ["1"] });
  const [first, second] = made.spec?.topologySpreadConstraints ?? [];
  assert.deepEqual(first?.labelSelector, { matchExpressions: [expression("In")] });
  // An unset selector selects nothing, and stays unset.
  assert.equal(second?.labelSelector, undefined);
  const [weighted] =
    made.spec?.affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  assert.deepEqual(weighted?.podAffinityTerm?.labelSelector, {
    matchLabels: { a: "b" },
    matchExpressions: [expression("NotIn")],
  });
});

const key = "container.apparmor.security.beta.kubernetes.io/c";

test("AppArmor annotations become profiles, with a warning", () => {
  const cases: readonly (readonly [annotation: string, spec: object, profile: unknown, warns: boolean])[] = [
    ["runtime/default", {}, { type: "RuntimeDefault" }, true],
    ["localhost/x", {}, { type: "Localhost", localhostProfile: "x" }, true],
    ["localhost/", {}, undefined, true],
    ["localhost/ x", {}, undefined, true],
    // An annotation equal to the profile of the pod adds no profile to the container.
    ["unconfined", { securityContext: { appArmorProfile: { type: "Unconfined" } } }, undefined, false],
    ["unconfined", { os: { name: "windows" } }, undefined, false],
  ];
  for (const [annotation, spec, profile, warns] of cases) {
    const made = pod({ annotations: { [key]: annotation } }, spec);
    const warnings: string[] = [];
    takeAppArmorAnnotations(made, (text) => warnings.push(text));
    assert.deepEqual(made.spec?.containers[0]?.securityContext?.appArmorProfile, profile, annotation);
    const text = `metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`;
    assert.deepEqual(warnings, warns ? [text] : [], annotation);
  }
});
