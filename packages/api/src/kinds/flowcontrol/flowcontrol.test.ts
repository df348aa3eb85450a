/** Upstream: pkg/apis/flowcontrol/validation/validation_test.go */
import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf, fieldErrorText, type KubeObject, type KubernetesVersion } from "@dray/api";
import { setDefaults } from "@dray/api/defaults";
import { mandatoryFlowControl, validateCreate } from "@dray/api/validation";

const group = "flowcontrol.apiserver.k8s.io";

function created(kind: string, spec: object, name = "x", release: KubernetesVersion = "1.37"): string[] {
  const metadata = { name, uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };
  const object = structuredClone({
    apiVersion: `${group}/v1`,
    kind,
    metadata,
    spec,
  }) as unknown as KubeObject;
  setDefaults({ group, version: "v1", kind }, object, { now: "2026-01-01T00:00:00Z", release });
  const context = { features: featuresOf(release), namespaceLabels: undefined } as never;
  return validateCreate({ group, kind }, object, context).map(fieldErrorText);
}
const schema = (spec: object, name?: string): string[] => created("FlowSchema", spec, name);
const level = (spec: object, name?: string): string[] => created("PriorityLevelConfiguration", spec, name);
const priorityLevelConfiguration = { name: "l" };
const subjects = [{ kind: "User", user: { name: "u" } }];
const nonResourceRules = [{ verbs: ["*"], nonResourceURLs: ["*"] }];
const rule = { subjects, nonResourceRules };

test("a FlowSchema names a priority level, and rules with subjects", () => {
  assert.deepEqual(schema({ priorityLevelConfiguration, rules: [rule] }), []);
  assert.deepEqual(schema({ priorityLevelConfiguration: {}, matchingPrecedence: 10_001 }), [
    "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000",
    "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
  ]);
  assert.deepEqual(schema({ priorityLevelConfiguration, matchingPrecedence: 1 }), [
    "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
  ]);
  assert.deepEqual(schema({ priorityLevelConfiguration, rules: [{}] }), [
    "spec.rules[0].subjects: Required value: subjects must contain at least one value",
    "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
  ]);
  assert.deepEqual(schema({ priorityLevelConfiguration, distinguisherMethod: { type: "ByHost" } }), [
    'spec.distinguisherMethod.type: Unsupported value: {"Type":"ByHost"}: supported values: "ByNamespace", "ByUser"',
  ]);
});

test("a subject has the field of its kind, and no other", () => {
  const of = (subject: object): string[] =>
    schema({ priorityLevelConfiguration, rules: [{ subjects: [subject], nonResourceRules }] });
  const path = "spec.rules[0].subjects[0]";
  assert.deepEqual(of({ kind: "User", group: { name: "g" } }), [
    `${path}.user: Required value: user is required when subject kind is 'User'`,
    `${path}.group: Forbidden: group is forbidden when subject kind is not 'Group'`,
  ]);
  assert.deepEqual(of({ kind: "ServiceAccount", serviceAccount: { name: "*" } }), [
    `${path}.serviceAccount.namespace: Required value: must specify namespace for service account`,
  ]);
  assert.deepEqual(of({ kind: "Robot" }), [
    `${path}.kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"`,
  ]);
});

test("wildcards stand alone, and paths begin with a slash", () => {
  const path = "spec.rules[0]";
  const of = (rules: object): string[] =>
    schema({ priorityLevelConfiguration, rules: [{ subjects, ...rules }] });
  const resources = { apiGroups: ["*", "a"], resources: ["pods"], verbs: ["get", "watch"] };
  assert.deepEqual(of({ resourceRules: [resources] }), [
    `${path}.resourceRules[0].apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other api groups`,
    `${path}.resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace`,
  ]);
  assert.deepEqual(of({ nonResourceRules: [{ verbs: ["fly"], nonResourceURLs: ["a", "/b/*", "/c*"] }] }), [
    `${path}.nonResourceRules[0].verbs: Unsupported value: ["fly"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"`,
    `${path}.nonResourceRules[0].nonResourceURLs[0]: Invalid value: "a": must start with slash`,
    `${path}.nonResourceRules[0].nonResourceURLs[2]: Invalid value: "/c*": wildcard can only do suffix matching`,
  ]);
});

const queue = (queuing: object): object => ({
  type: "Limited",
  limited: { limitResponse: { type: "Queue", queuing } },
});

test("a priority level has what belongs to its type", () => {
  assert.deepEqual(level(queue({})), []);
  assert.deepEqual(level({ type: "Limited" }), ["spec.limited: Required value"]);
  assert.deepEqual(created("PriorityLevelConfiguration", { type: "Limited" }, "x", "1.36"), [
    "spec.limited: Required value: must not be empty when type is Limited",
  ]);
  assert.deepEqual(level({ type: "Exempt" }), [
    `spec.type: Invalid value: "Exempt": must be 'Exempt' if and only if \`name\` is 'exempt'`,
  ]);
  assert.deepEqual(level({ type: "Limited", limited: { limitResponse: { type: "Queue" } } }), [
    "spec.limited.limitResponse.queuing: Required value",
  ]);
  assert.deepEqual(
    level({
      type: "Limited",
      limited: { nominalConcurrencyShares: -1, lendablePercent: 101, limitResponse: { type: "Reject" } },
    }),
    [
      "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
      "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
    ],
  );
});

test("queues are enough for a hand, and a hash chooses one", () => {
  const path = "spec.limited.limitResponse.queuing";
  assert.deepEqual(level(queue({ queues: 4, handSize: 5 })), [
    `${path}.handSize: Invalid value: 5: should not be greater than queues (4)`,
  ]);
  assert.deepEqual(level(queue({ queues: 512, handSize: 8 })), [
    `${path}.handSize: Invalid value: 8: required entropy bits of deckSize 512 and handSize 8 should not be greater than 60`,
  ]);
});

test("lists that are written as null are empty", () => {
  const path = "spec.rules[0]";
  const rules = [
    { subjects: null, resourceRules: [{ verbs: null, apiGroups: null, resources: null, namespaces: null }] },
  ];
  assert.deepEqual(schema({ priorityLevelConfiguration, rules }), [
    `${path}.subjects: Required value: subjects must contain at least one value`,
    `${path}.resourceRules[0].verbs: Required value: verbs must contain at least one value`,
    `${path}.resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group`,
    `${path}.resourceRules[0].resources: Required value: resource rules must supply at least one resource`,
    `${path}.resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace`,
  ]);
});

test("since 1.37 what does not fit the type is said last", () => {
  const spec = {
    type: "Limited",
    limited: { lendablePercent: 101, limitResponse: { type: "Reject", queuing: {} } },
  };
  const lendable = "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive";
  assert.deepEqual(level(spec), [lendable, "spec.limited.limitResponse.queuing: Forbidden"]);
  assert.deepEqual(created("PriorityLevelConfiguration", spec, "x", "1.36"), [
    "spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited",
    lendable,
  ]);
});

test("the mandatory objects are as they are", () => {
  const { flowSchemas, priorityLevelConfigurations } = mandatoryFlowControl;
  for (const [name, spec] of Object.entries(flowSchemas)) assert.deepEqual(schema(spec, name), []);
  for (const [name, spec] of Object.entries(priorityLevelConfigurations))
    assert.deepEqual(level(spec, name), []);
  const [problem] = schema({ ...flowSchemas["catch-all"], matchingPrecedence: 9 }, "catch-all");
  assert.match(
    problem!,
    /^spec: Invalid value: \{"PriorityLevelConfiguration":\{"Name":"catch-all"\},"MatchingPrecedence":9,.*\}: spec of 'catch-all' must equal the fixed value$/,
  );
  const exempt = { type: "Exempt", exempt: { nominalConcurrencyShares: 7, lendablePercent: 50 } };
  assert.deepEqual(level(exempt, "exempt"), []);
});
