import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesVersion } from "../features/features.ts";
import { internalForm } from "./internal.ts";

const names = (type: string, release: KubernetesVersion, value = {}): string[] =>
  Object.keys(internalForm(type, value, { release }) as object);

/** Upstream: pkg/apis/core/types.go and pkg/apis/batch/types.go of 1.36 and 1.37 */
test("the server's own structs have the order of their release", () => {
  assert.deepEqual(names("core/v1.ServiceSpec", "1.36").slice(0, 3), ["Type", "Ports", "Selector"]);
  assert.deepEqual(names("core/v1.ServiceSpec", "1.37").slice(0, 3), ["Ports", "Selector", "ClusterIP"]);
  const after = (type: string, release: KubernetesVersion, name: string): string | undefined => {
    const all = names(type, release);
    return all[all.indexOf(name) + 1];
  };
  assert.equal(after("core/v1.Volume", "1.36", "RBD"), "Quobyte");
  assert.equal(after("core/v1.Volume", "1.37", "RBD"), "FlexVolume");
  assert.equal(after("batch/v1.JobSpec", "1.36", "Completions"), "PodFailurePolicy");
  assert.equal(after("batch/v1.JobSpec", "1.37", "Completions"), "ActiveDeadlineSeconds");
  assert.equal(after("batch/v1.JobStatus", "1.37", "Active"), "Succeeded");
});

test("a release lacks the fields of later ones", () => {
  assert.ok(!names("core/v1.EmptyDirVolumeSource", "1.36").includes("Mode"));
  assert.ok(names("core/v1.EmptyDirVolumeSource", "1.37").includes("Mode"));
  assert.ok(!names("core/v1.PodSpec", "1.35").includes("SchedulingGroup"));
  assert.ok(names("core/v1.PodSpec", "1.36").includes("SchedulingGroup"));
});

test("a field that is not a pointer in the server has its zero value", () => {
  const shown = (type: string, release: KubernetesVersion): unknown =>
    (internalForm(type, {}, { release }) as Record<string, unknown>)["ExpirationSeconds"];
  assert.equal(shown("core/v1.ServiceAccountTokenProjection", "1.36"), 0);
  assert.equal(shown("core/v1.ServiceAccountTokenProjection", "1.37"), null);
});

test("a struct that the API inlines has a name of its own", () => {
  const rule = { resourceNames: ["a"], operations: ["*"], apiGroups: [""], resources: ["pods"], scope: "*" };
  const shown = internalForm("admissionregistration/v1.NamedRuleWithOperations", rule, { release: "1.37" });
  assert.equal(
    JSON.stringify(shown),
    '{"ResourceNames":["a"],"RuleWithOperations":' +
      '{"Operations":["*"],"APIGroups":[""],"APIVersions":null,"Resources":["pods"],"Scope":"*"}}',
  );
});
