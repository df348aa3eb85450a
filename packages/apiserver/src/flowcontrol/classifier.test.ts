/** Upstream: apiserver/pkg/util/flowcontrol/rule.go */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PolicyRulesWithSubjects, Subject } from "@dray/api/flowcontrol/v1";
import { systemClock } from "@dray/client";
import { compareFlowSchemas, type FlowSchemaSource } from "../kinds/flowcontrol/flow-schema/order.ts";
import { requestInfo } from "../request/info.ts";
import { mandatorySchemas, suggestedSchemas } from "./bootstrap-objects.ts";
import { Classifier } from "./classifier.ts";
import { FlowCounts } from "./counts.ts";
import { Flow } from "./flow.ts";
import { PriorityLevel } from "./priority-level.ts";

function classifierOf(schemas: readonly FlowSchemaSource[]): Classifier {
  const flows = schemas.toSorted(compareFlowSchemas).map((schema) => {
    const level = new PriorityLevel(schema.spec.priorityLevelConfiguration.name, systemClock);
    return new Flow(schema, level, new FlowCounts(level.name, schema.metadata.name));
  });
  return new Classifier(flows, flows.at(-1)!);
}

const bootstrap = classifierOf([...mandatorySchemas, ...suggestedSchemas]);
const authenticated = "system:authenticated";

const bootstrapCases: readonly [user: string, groups: readonly string[], request: string, schema: string][] =
  [
    ["admin", ["system:masters", authenticated], "GET /api/v1/pods", "exempt"],
    ["anybody", [authenticated], "GET /livez", "probes"],
    ["anybody", [authenticated], "GET /livez/etcd", "probes"],
    ["anybody", [authenticated], "GET /livezz", "global-default"],
    ["system:anonymous", ["system:unauthenticated"], "GET /version", "global-default"],
    [
      "system:kube-scheduler",
      [authenticated],
      "PUT /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler",
      "system-leader-election",
    ],
    [
      "system:kube-scheduler",
      [authenticated],
      "PATCH /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler",
      "kube-scheduler",
    ],
    ["system:kube-scheduler", [authenticated], "POST /api/v1/namespaces/a/pods/p/binding", "kube-scheduler"],
    ["system:kube-controller-manager", [authenticated], "GET /api/v1/pods", "kube-controller-manager"],
    ["system:node:n", ["system:nodes", authenticated], "PATCH /api/v1/nodes/n/status", "system-node-high"],
    ["system:node:n", ["system:nodes", authenticated], "GET /api/v1/nodes/n/proxy", "system-nodes"],
    ["system:node:n", ["system:nodes", authenticated], "GET /api/v1/pods", "system-nodes"],
    [
      "system:serviceaccount:kube-system:gc",
      ["system:serviceaccounts", authenticated],
      "GET /api/v1/pods",
      "kube-system-service-accounts",
    ],
    [
      "system:serviceaccount:kube-system2:gc",
      ["system:serviceaccounts", authenticated],
      "GET /api/v1/pods",
      "service-accounts",
    ],
    ["nobody", [], "GET /api/v1/pods", "catch-all"],
  ];
for (const [name, groups, request, schema] of bootstrapCases) {
  test(`${name} ${request} is ${schema}`, () => {
    const [method = "", url = ""] = request.split(" ");
    assert.equal(bootstrap.classify(requestInfo(method, url), { name, groups }).name, schema);
  });
}

const any: Subject = { kind: "Group", group: { name: "*" } };
const pods = { verbs: ["get"], apiGroups: [""], resources: ["pods"], namespaces: ["a"] };

function matches(rule: PolicyRulesWithSubjects, request: string, name = "me"): boolean {
  const spec = { priorityLevelConfiguration: { name: "l" }, matchingPrecedence: 5, rules: [rule] };
  const schema = { metadata: { name: "own" }, spec };
  const rest = { ...schema, metadata: { name: "rest" }, spec: { ...spec, matchingPrecedence: 9, rules: [] } };
  const [method = "", url = ""] = request.split(" ");
  return classifierOf([schema, rest]).classify(requestInfo(method, url), { name, groups: [] }).name === "own";
}

test("a rule matches subjects, verbs, groups, resources and namespaces", () => {
  const rule = { subjects: [any], resourceRules: [pods] };
  assert.ok(matches(rule, "GET /api/v1/namespaces/a/pods/p"));
  assert.ok(!matches(rule, "GET /api/v1/namespaces/a/pods"), "that is a list");
  assert.ok(!matches(rule, "GET /api/v1/namespaces/b/pods/p"));
  assert.ok(!matches(rule, "GET /api/v1/namespaces/a/pods/p/status"), "a subresource has to be named");
  assert.ok(!matches(rule, "GET /apis/metrics.k8s.io/v1beta1/namespaces/a/pods/p"));
  assert.ok(
    !matches(
      { ...rule, subjects: [{ kind: "User", user: { name: "you" } }] },
      "GET /api/v1/namespaces/a/pods/p",
    ),
  );
  assert.ok(
    matches(
      { ...rule, subjects: [{ kind: "User", user: { name: "*" } }] },
      "GET /api/v1/namespaces/a/pods/p",
    ),
  );
});

test("requests without a namespace match only cluster-scoped rules", () => {
  const list = { ...pods, verbs: ["list"], namespaces: ["*"] };
  assert.ok(!matches({ subjects: [any], resourceRules: [list] }, "GET /api/v1/pods"));
  assert.ok(
    matches({ subjects: [any], resourceRules: [{ ...list, clusterScope: true }] }, "GET /api/v1/pods"),
  );
  assert.ok(matches({ subjects: [any], resourceRules: [list] }, "GET /api/v1/namespaces/a/pods"));
});

test("a rule for requests without a namespace may have no namespaces", () => {
  // As stored.
  const namespaces = null as unknown as string[];
  const rule = { subjects: [any], resourceRules: [{ ...pods, clusterScope: true, namespaces }] };
  assert.ok(!matches(rule, "GET /api/v1/namespaces/a/pods/p"));
});

test("a service account is matched by namespace and name", () => {
  const of = (name: string): PolicyRulesWithSubjects => ({
    subjects: [{ kind: "ServiceAccount", serviceAccount: { namespace: "n", name } }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  });
  assert.ok(matches(of("*"), "GET /version", "system:serviceaccount:n:a"));
  assert.ok(matches(of("a"), "GET /version", "system:serviceaccount:n:a"));
  assert.ok(!matches(of("a"), "GET /version", "system:serviceaccount:n:b"));
  assert.ok(!matches(of("*"), "GET /version", "system:serviceaccount:nn:a"));
});

test("among FlowSchemas with equal precedence the first by name matches", () => {
  const spec = {
    priorityLevelConfiguration: { name: "l" },
    matchingPrecedence: 5,
    rules: [{ subjects: [any], nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }] }],
  };
  const schema = (name: string): FlowSchemaSource => ({ metadata: { name }, spec });
  const found = classifierOf([schema("b"), schema("a"), schema("c")]);
  assert.equal(found.classify(requestInfo("GET", "/version"), { name: "me", groups: [] }).name, "a");
});
