import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { VolumeProjection } from "../generated/core/v1.ts";
import type { DeviceTaintRule, ResourceClaim, ResourceSlice } from "../generated/resource/v1.ts";
import {
  featuresOf,
  fieldErrorText,
  type KubeObject,
  type KubernetesVersion,
  parseFeatureGates,
} from "../index.ts";
import {
  type CompiledSelector,
  dropDeallocatedDevices,
  dropDisabledFields,
  stampChangedTaint,
  type ValidationContext,
  validateCreate,
  validateStatusUpdate,
  validateUpdate,
} from "./index.ts";

/** A recorded response of kube-apiserver 1.36; one case a line. */
interface Case {
  readonly name: string;
  readonly group: string;
  readonly kind: string;
  readonly operation: "create" | "update" | "status";
  readonly object: KubeObject;
  readonly old?: KubeObject;
  readonly namespaceLabels?: Record<string, string>;
  /** Results of the compiler for the selectors of the case; any other selector is valid. */
  readonly compiled?: Record<string, CompiledSelector>;
  readonly errors: readonly string[];
}

const cases = readFileSync(new URL("./testdata/cases.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Case);

function contextOf(recorded: Partial<Case>, version: "1.36" | "1.37" = "1.36"): ValidationContext {
  return {
    features: featuresOf(version),
    compileSelector: (expression) => recorded.compiled?.[expression] ?? { ok: true, maxCost: 1 },
    namespaceLabels: recorded.namespaceLabels,
  };
}

function errorsOf(recorded: Case): string[] {
  const { object, old } = recorded;
  const context = contextOf(recorded);
  if (old === undefined) return validateCreate(recorded, object, context).map(fieldErrorText);
  const validate = recorded.operation === "status" ? validateStatusUpdate : validateUpdate;
  return validate(recorded, object, old, context).map(fieldErrorText);
}

describe("validation has the recorded errors of kube-apiserver 1.36", () => {
  for (const recorded of cases) {
    test(`${recorded.kind} ${recorded.operation}: ${recorded.name}`, () => {
      assert.deepEqual(errorsOf(recorded), recorded.errors);
    });
  }
});

const slice = (device: object, spec: object = {}): ResourceSlice =>
  ({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: "s" },
    spec: {
      driver: "d.example.com",
      nodeName: "n",
      pool: { name: "p", generation: 1, resourceSliceCount: 1 },
      devices: [{ name: "a", ...device }],
      ...spec,
    },
  }) as unknown as ResourceSlice;

const sliceErrors = (device: object, spec?: object, version?: "1.36" | "1.37"): string[] =>
  validateCreate(
    { group: "resource.k8s.io", kind: "ResourceSlice" },
    slice(device, spec),
    contextOf({}, version),
  ).map(fieldErrorText);

const policy = (requestPolicy: object): object => ({
  allowMultipleAllocations: true,
  capacity: { memory: { value: "10Gi", requestPolicy } },
});
const path = "spec.devices[0].capacity[memory].requestPolicy";

describe("capacities that allocations share (KEP-5075)", () => {
  test("a policy needs a device with several allocations", () => {
    const device = { capacity: { memory: { value: "1Gi", requestPolicy: { default: "1Gi" } } } };
    assert.deepEqual(sliceErrors(device), [`${path}: Forbidden: allowMultipleAllocations must be true`]);
  });
  test("a range with a default on a step is legal", () => {
    const range = { min: "1Gi", max: "9Gi", step: "2Gi" };
    assert.deepEqual(sliceErrors(policy({ default: "3Gi", validRange: range })), []);
  });
  test("a default between two steps is not", () => {
    const range = { min: "1Gi", step: "2Gi" };
    assert.deepEqual(sliceErrors(policy({ default: "2Gi", validRange: range })), [
      `${path}.validRange.step: Invalid value: "2Gi": value is not a multiple of a given step (2Gi) from (1Gi)`,
    ]);
  });
  test("a step of zero is an error where upstream 1.36 falls over", () => {
    const range = { min: "1Gi", step: "0" };
    assert.deepEqual(sliceErrors(policy({ default: "1Gi", validRange: range })), [
      `${path}.validRange.step: Invalid value: "0": must be greater than zero`,
    ]);
  });
  test("a negative step is taken by 1.36 and refused by 1.37", () => {
    const device = policy({ default: "1Gi", validRange: { min: "1Gi", step: "-1Gi" } });
    assert.deepEqual(sliceErrors(device, {}, "1.36"), []);
    assert.equal(sliceErrors(device, {}, "1.37").length, 1);
  });
  test("values are in order, within the capacity, and hold the default", () => {
    assert.deepEqual(sliceErrors(policy({ default: "3Gi", validValues: ["2Gi", "1Gi", "20Gi"] })), [
      `${path}.validValues[1]: Invalid value: "1Gi": values must be sorted in ascending order`,
      `${path}.validValues[2]: Invalid value: "20Gi": option is larger than capacity value: 10Gi`,
      `${path}.validValues: Invalid value: "3Gi": default value is not valid according to the requestPolicy`,
    ]);
  });
});

describe("devices of a slice", () => {
  test("an attribute has exactly one value, of limited length", () => {
    assert.deepEqual(sliceErrors({ attributes: { a: { int: 1, bool: true }, v: { version: "1.0" } } }), [
      'spec.devices[0].attributes[a]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null,' +
        '"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: exactly one value must be specified',
      'spec.devices[0].attributes[v].version: Invalid value: "1.0": must be a string compatible with semver.org spec 2.0.0',
    ]);
    assert.deepEqual(sliceErrors({ attributes: { a: { string: "é".repeat(33) } } }), [
      "spec.devices[0].attributes[a].string: Too long: may not be more than 64 bytes",
    ]);
  });
  test("counters are named, and consumed of one set once", () => {
    const consumed = { counterSet: "s", counters: { m: { value: "1" } } };
    assert.deepEqual(sliceErrors({ consumesCounters: [consumed, consumed] }), [
      'spec.devices[0].consumesCounters[1]: Duplicate value: "s"',
    ]);
    assert.deepEqual(sliceErrors({ consumesCounters: [{ counterSet: "S", counters: {} }] }).length, 2);
  });
  test("an update does not validate unchanged fields again", () => {
    const old = slice({ taints: [{ key: "bad key!", effect: "NoSchedule" }] });
    const kind = { group: "resource.k8s.io", kind: "ResourceSlice" };
    const relabelled = { ...old, metadata: { ...old.metadata, labels: { a: "b" } } };
    assert.deepEqual(validateUpdate(kind, relabelled, old, contextOf({})), []);
  });
});

test("a deallocation takes the status of its devices along", () => {
  const result = { request: "r", driver: "d", pool: "p", device: "a" };
  const device = { driver: "d", pool: "p", device: "a" };
  const old = { status: { allocation: { devices: { results: [result] } }, devices: [device] } };
  const claim = { status: { devices: [device, { ...device, device: "other" }] } };
  dropDeallocatedDevices(claim as unknown as ResourceClaim, old as unknown as ResourceClaim);
  // The device that was never allocated stays, to be refused.
  assert.deepEqual(claim.status.devices, [{ ...device, device: "other" }]);
});

test("a taint whose effect changes gets a new time, unless the client sets one", () => {
  const rule = (effect: string, timeAdded: string): DeviceTaintRule =>
    ({ spec: { taint: { key: "k", effect, timeAdded } } }) as unknown as DeviceTaintRule;
  const old = rule("NoSchedule", "2020-01-01T00:00:00Z");
  const changed = rule("NoExecute", "2020-01-01T00:00:00Z");
  stampChangedTaint(changed, old, "2026-01-01T00:00:00Z");
  assert.equal(changed.spec.taint?.timeAdded, "2026-01-01T00:00:00Z");
  const timed = rule("NoExecute", "2021-01-01T00:00:00Z");
  stampChangedTaint(timed, old, "2026-01-01T00:00:00Z");
  assert.equal(timed.spec.taint?.timeAdded, "2021-01-01T00:00:00Z");
});

test("a message keeps the digits of an int64", () => {
  const device = { attributes: { a: { int: 9007199254740993n, bool: true } } };
  assert.match(sliceErrors(device)[0] ?? "", /"IntValue":9007199254740993,/);
});

describe("fields of disabled gates", () => {
  const kind = { group: "resource.k8s.io", version: "v1", kind: "ResourceSlice" };
  const device = (): object => ({
    taints: [{ key: "k", effect: "NoSchedule" }],
    attributes: { a: { ints: [1] } },
  });

  test("are dropped, those of enabled ones stay", () => {
    const object = slice(device());
    dropDisabledFields(kind, object, undefined, { features: featuresOf("1.37") });
    assert.deepEqual(object.spec.devices, [
      { name: "a", taints: [{ key: "k", effect: "NoSchedule" }], attributes: { a: {} } },
    ]);
    dropDisabledFields(kind, object, undefined, { features: featuresOf("1.34") });
    assert.deepEqual(object.spec.devices, [{ name: "a", attributes: { a: {} } }]);
  });

  test("stay where the stored object uses the feature", () => {
    const object = slice({ taints: [{ key: "other", effect: "None" }] });
    dropDisabledFields(kind, object, slice(device()), { features: featuresOf("1.34") });
    assert.deepEqual(object.spec.devices?.[0]?.taints, [{ key: "other", effect: "None" }]);
  });

  // Upstream: pkg/api/pod/util.go, dropDisabledClusterTrustBundleProjection and
  // dropDisabledPodCertificateProjection
  test("of projected volumes follow the gates of trust bundles and pod certificates", () => {
    const kept = (version: KubernetesVersion, gates: string): string[] => {
      const sources: VolumeProjection[] = [
        { clusterTrustBundle: { name: "b", path: "ca" } },
        { podCertificate: { signerName: "example.com/s", keyType: "ED25519", keyPath: "key" } },
      ];
      const pod = { spec: { volumes: [{ name: "v", projected: { sources } }] } } as unknown as KubeObject;
      const kind = { group: "", version: "v1", kind: "Pod" };
      dropDisabledFields(kind, pod, undefined, { features: featuresOf(version, parseFeatureGates(gates)) });
      return sources.flatMap((source) => Object.keys(source));
    };
    assert.deepEqual(kept("1.37", ""), ["clusterTrustBundle", "podCertificate"]);
    assert.deepEqual(kept("1.37", "ClusterTrustBundleProjection=false"), ["podCertificate"]);
    assert.deepEqual(kept("1.37", "PodCertificateRequest=false"), ["clusterTrustBundle"]);
    assert.deepEqual(kept("1.36", ""), []);
    const both = "ClusterTrustBundle=true,ClusterTrustBundleProjection=true";
    assert.deepEqual(kept("1.36", both), ["clusterTrustBundle"]);
    assert.deepEqual(kept("1.34", "PodCertificateRequest=true"), ["podCertificate"]);
  });
});
