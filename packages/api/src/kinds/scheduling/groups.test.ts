/** Upstream: k8s.io/api/scheduling/v1beta1/types.go, pkg/apis/scheduling/validation. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf, fieldErrorText, type KubeObject } from "@dray/api";
import { validateCreate, validateStatusUpdate, validateUpdate } from "@dray/api/validation";

const context = { features: featuresOf("1.37"), namespaceLabels: undefined } as never;

function object(kind: string, spec: object, status?: object): KubeObject {
  const metadata = { name: "x", namespace: "n", uid: "u", resourceVersion: "1" };
  return {
    apiVersion: "scheduling.k8s.io/v1beta1",
    kind,
    metadata,
    spec,
    ...(status && { status }),
  } as never;
}
const kindOf = (kind: string) => ({ group: "scheduling.k8s.io", kind });
const created = (kind: string, spec: object): string[] =>
  validateCreate(kindOf(kind), object(kind, spec), context).map(fieldErrorText);
const updated = (kind: string, spec: object, old: object): string[] =>
  validateUpdate(kindOf(kind), object(kind, spec), object(kind, old), context).map(fieldErrorText);

const gang = { schedulingPolicy: { gang: { minCount: 2 } } };

test("a group has one policy, and a gang a minimum", () => {
  assert.deepEqual(created("PodGroup", gang), []);
  assert.deepEqual(created("PodGroup", {}), [
    'spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`',
  ]);
  assert.deepEqual(created("PodGroup", { schedulingPolicy: { basic: {}, gang: { minCount: 1 } } }), [
    'spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`',
  ]);
  const least = (minCount: number): string[] =>
    created("PodGroup", { schedulingPolicy: { gang: { minCount } } });
  assert.deepEqual(least(0), ["spec.schedulingPolicy.gang.minCount: Required value"]);
  assert.deepEqual(least(-1), [
    "spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",
  ]);
});

test("claims, topology, disruption mode and priority of a group", () => {
  const claim = (name: string, more: object = { resourceClaimName: "c" }): object => ({ name, ...more });
  assert.deepEqual(
    created("PodGroup", {
      ...gang,
      resourceClaims: [claim("a"), claim("b", {}), claim("A", { resourceClaimTemplateName: "t" })],
      schedulingConstraints: { topology: [{ key: "" }] },
      disruptionMode: {},
      priority: 2_000_000_000,
    }).map((text) => text.slice(0, 100)),
    [
      "spec.schedulingConstraints.topology[0].key: Required value",
      'spec.resourceClaims[1]: Invalid value: "": must specify one of: `resourceClaimName`, `resourceClaimT',
      'spec.resourceClaims[2].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower ca',
      'spec.disruptionMode: Invalid value: "": must specify one of: `single`, `all`',
      "spec.priority: Invalid value: 2000000000: must be less than or equal to 1000000000",
    ],
  );
  const many = Array.from({ length: 5 }, (_, i) => claim(`c${i}`));
  assert.deepEqual(created("PodGroup", { ...gang, resourceClaims: many }), [
    "spec.resourceClaims: Too many: 5: must have at most 4 items",
  ]);
  const keys = [{ key: "a" }, { key: "b" }];
  assert.deepEqual(created("PodGroup", { ...gang, schedulingConstraints: { topology: keys } }), [
    "spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item",
  ]);
  assert.deepEqual(created("PodGroup", { ...gang, parentCompositePodGroupName: "p" }), [
    "spec.workloadRef: Required value: must be set when parentCompositePodGroupName is set",
  ]);
});

test("of a group only the minimum of its gang can be changed", () => {
  assert.deepEqual(updated("PodGroup", { schedulingPolicy: { gang: { minCount: 1 } } }, gang), []);
  assert.deepEqual(updated("PodGroup", { schedulingPolicy: { basic: {} } }, gang), [
    "spec.schedulingPolicy.basic: Invalid value: null: field is immutable",
    "spec.schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set",
  ]);
  assert.deepEqual(updated("PodGroup", { ...gang, priority: 1, disruptionMode: { all: {} } }, gang), [
    "spec.disruptionMode: Invalid value: null: field is immutable",
    "spec.priority: Invalid value: null: field is immutable",
  ]);
});

test("the status of a group names its claims", () => {
  const old = object("PodGroup", { ...gang, resourceClaims: [{ name: "c", resourceClaimName: "c" }] });
  const errors = (name: string): string[] =>
    validateStatusUpdate(
      kindOf("PodGroup"),
      { ...old, status: { resourceClaimStatuses: [{ name, resourceClaimName: "c" }] } } as never,
      old,
      context,
    ).map(fieldErrorText);
  assert.deepEqual(errors("c"), []);
  assert.deepEqual(errors("d"), [
    'status.resourceClaimStatuses[0].name: Invalid value: "d": must match the name of an entry in `spec.resourceClaims`',
  ]);
});

test("a group of groups", () => {
  const spec = {
    workloadRef: { workloadName: "w", templateName: "t" },
    schedulingPolicy: { gang: { minGroupCount: 1 } },
  };
  assert.deepEqual(created("CompositePodGroup", spec), []);
  assert.deepEqual(created("CompositePodGroup", { schedulingPolicy: { gang: { minGroupCount: -1 } } }), [
    "spec.workloadRef: Required value",
    "spec.schedulingPolicy.gang.minGroupCount: Invalid value: -1: must be greater than or equal to 1",
  ]);
  assert.deepEqual(
    updated("CompositePodGroup", { ...spec, schedulingPolicy: { gang: { minGroupCount: 2 } } }, spec),
    ["spec.schedulingPolicy: Invalid value: null: field is immutable"],
  );
});

test("the templates of a workload", () => {
  const template = (name: string, more: object = {}): object => ({ name, ...gang, ...more });
  const composite = (name: string, more: object = {}): object => ({
    name,
    schedulingPolicy: { basic: {} },
    ...more,
  });
  assert.deepEqual(created("Workload", { podGroupTemplates: [template("a")] }), []);
  assert.deepEqual(created("Workload", { podGroupTemplates: [] }), [
    'spec: Invalid value: "": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`',
  ]);
  const inner = composite("inner", { podGroupTemplates: [template("a"), template("outer")] });
  assert.deepEqual(
    created("Workload", {
      compositePodGroupTemplates: [
        composite("outer", { compositePodGroupTemplates: [inner] }),
        composite("b"),
      ],
    }),
    [
      'spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].podGroupTemplates[1].name: Duplicate value: "outer"',
      'spec.compositePodGroupTemplates[1]: Invalid value: "b": must have at least one child PodGroupTemplate or CompositePodGroupTemplate',
    ],
  );
  assert.deepEqual(
    created("Workload", { podGroupTemplates: [template("a"), template("b", { priority: 1 })] }),
    ["spec: Invalid value: null: detected multiple priority configurations"],
  );
  const controllerRef = { apiGroup: "batch", kind: "Job", name: "a/b" };
  assert.match(
    created("Workload", { controllerRef, podGroupTemplates: [template("a")] }).join(),
    /^spec\.controllerRef\.name: Invalid value: "a\/b": may not contain '\/'$/,
  );
  const minima = { podGroupTemplates: [template("a", { schedulingPolicy: { gang: { minCount: 5 } } })] };
  assert.deepEqual(updated("Workload", minima, { podGroupTemplates: [template("a")] }), []);
});
