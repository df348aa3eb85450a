import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { featuresOf, fieldErrorText, type KubeObject } from "../../index.ts";
import { type AdmissionExpressions, validateCreate, validateUpdate } from "../../validation/index.ts";

const rule = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE"],
  resources: ["pods"],
  scope: "*",
};
const selectors = { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} };

/** A compiler that rejects expressions with `bad`, and records the expressions that it receives. */
function context(compiled: string[] = []) {
  return {
    features: featuresOf("1.36"),
    compileSelector: () => ({ ok: true, maxCost: 1 }) as const,
    admissionExpressions: ({ composes }: { composes: boolean }): AdmissionExpressions => {
      const judge = (expression: string) => {
        compiled.push(`${expression}${composes ? " with variables" : ""}`);
        const bad = { ok: false, error: "compilation failed: it is bad", type: "RuleInvalid" } as const;
        return expression.includes("bad") ? bad : ({ ok: true } as const);
      };
      return { compile: judge, variable: (_name, expression) => judge(expression) };
    },
  };
}

function problems(kind: string, fields: object, old?: object): string[] {
  const group = { group: "admissionregistration.k8s.io", kind };
  const object = (own: object): KubeObject =>
    ({ metadata: { name: "x", uid: "u", resourceVersion: "1" }, ...own }) as unknown as KubeObject;
  const errors =
    old === undefined
      ? validateCreate(group, object(fields), context())
      : validateUpdate(group, object(fields), object(old), context());
  return errors.map(fieldErrorText);
}

const policy = (spec: object): object => ({
  spec: {
    failurePolicy: "Fail",
    matchConstraints: { ...selectors, resourceRules: [rule] },
    validations: [{ expression: "true" }],
    ...spec,
  },
});

describe("policies", () => {
  const kind = "ValidatingAdmissionPolicy";

  test("a complete one is taken, an empty one lacks all that is required", () => {
    assert.deepEqual(problems(kind, policy({})), []);
    const both = "Required value: validations or auditAnnotations must contain at least one item";
    assert.deepEqual(problems(kind, { spec: {} }), [
      "spec.failurePolicy: Required value",
      "spec.matchConstraints: Required value",
      `spec.validations: ${both}`,
      `spec.auditAnnotations: ${both}`,
    ]);
  });

  test("expressions are compiled where they stand, match conditions without the variables", () => {
    const spec = {
      variables: [{ name: "v", expression: "bad()" }],
      matchConditions: [{ name: "c", expression: " bad " }],
      validations: [{ expression: "variables.v", messageExpression: "bad", reason: "Unauthorized" }],
      auditAnnotations: [{ key: "k", valueExpression: "bad" }],
    };
    const is = (value: string): string => `Invalid value: "${value}": compilation failed: it is bad`;
    assert.deepEqual(problems(kind, policy(spec)), [
      `spec.matchConditions[0].expression: ${is("bad")}`,
      `spec.variables[0].expression: ${is("bad()")}`,
      `spec.validations[0].messageExpression: ${is("bad")}`,
      'spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
      `spec.auditAnnotations[0].valueExpression: ${is("bad")}`,
    ]);
    const compiled: string[] = [];
    const group = { group: "admissionregistration.k8s.io", kind };
    const object = { metadata: { name: "x" }, ...policy(spec) } as unknown as KubeObject;
    validateCreate(group, object, context(compiled));
    assert.deepEqual(compiled.slice(0, 2), ["bad", "bad() with variables"]);
  });

  test("conditions that an update leaves as they are are not compiled again", () => {
    const spec = { matchConditions: [{ name: "c", expression: "bad" }] };
    assert.deepEqual(problems(kind, policy(spec), policy(spec)), []);
    assert.equal(
      problems(kind, policy({ ...spec, paramKind: { apiVersion: "v1", kind: "K" } }), policy(spec)).length,
      1,
    );
  });

  test("rules must not name what a wildcard holds", () => {
    const resources = (...names: string[]): string[] =>
      problems(
        kind,
        policy({ matchConstraints: { ...selectors, resourceRules: [{ ...rule, resources: names }] } }),
      ).map((text) => text.replace("spec.matchConstraints.resourceRules[0].resources", ""));
    assert.deepEqual(resources("pods/*", "pods/log"), [
      `[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log`,
    ]);
    assert.deepEqual(resources("*/*", "pods"), [
      `: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`,
    ]);
    assert.deepEqual(resources("*", "pods/log"), []);
    assert.equal(resources("*", "pods").length, 1);
  });
});

describe("mutating policies", () => {
  const kind = "MutatingAdmissionPolicy";

  test("mutations say how they change objects, and are not about deletions", () => {
    const spec = {
      validations: undefined,
      reinvocationPolicy: "Never",
      matchConstraints: { ...selectors, resourceRules: [{ ...rule, operations: ["DELETE"] }] },
      mutations: [{ patchType: "JSONPatch", applyConfiguration: { expression: "x" } }],
    };
    assert.deepEqual(problems(kind, policy(spec)), [
      'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
      "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
      'spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch',
    ]);
  });

  test("expressions of mutations are compiled, with the variables, behind all that is before them", () => {
    const compilation = (value: string): string => `Invalid value: "${value}": compilation failed: it is bad`;
    const spec = {
      validations: undefined,
      reinvocationPolicy: "Sometimes",
      matchConstraints: { ...selectors, resourceRules: [{ ...rule, operations: ["DELETE"] }] },
      matchConditions: [{ name: "c", expression: "bad" }],
      mutations: [
        { patchType: "JSONPatch", jsonPatch: { expression: " bad " } },
        { patchType: "ApplyConfiguration", applyConfiguration: { expression: "bad.too" } },
        { patchType: "ApplyConfiguration", applyConfiguration: { expression: " " } },
      ],
    };
    assert.deepEqual(problems(kind, policy(spec)), [
      'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
      `spec.matchConditions[0].expression: ${compilation("bad")}`,
      `spec.mutations[0].jsonPatch.expression: ${compilation("bad")}`,
      `spec.mutations[1].applyConfiguration.expression: ${compilation("bad.too")}`,
      "spec.mutations[2].applyConfiguration.expression: Required value",
      'spec.reinvocationPolicy: Unsupported value: "Sometimes": supported values: "IfNeeded", "Never"',
    ]);
    const compiled: string[] = [];
    const mutations = [{ patchType: "JSONPatch", jsonPatch: { expression: "patch" } }];
    const { spec: whole } = policy({ ...spec, matchConditions: [], mutations }) as { spec: object };
    validateCreate(
      { group: "admissionregistration.k8s.io", kind },
      { metadata: { name: "x" }, spec: whole } as unknown as KubeObject,
      context(compiled),
    );
    assert.deepEqual(compiled, ["patch with variables"]);
  });
});

test("bindings name a policy and what is to be done", () => {
  const kind = "ValidatingAdmissionPolicyBinding";
  const spec = { policyName: "p", validationActions: ["Deny"] };
  assert.deepEqual(problems(kind, { spec }), []);
  const paramRef = { name: "a/b", selector: {}, parameterNotFoundAction: "Bogus" };
  const exclusive = "Forbidden: name and selector are mutually exclusive";
  assert.deepEqual(problems(kind, { spec: { ...spec, validationActions: ["Deny", "Deny"], paramRef } }), [
    `spec.paramRef.name: Invalid value: "a/b": may not contain '/'`,
    `spec.paramRef.name: ${exclusive}`,
    `spec.paramRef.selector: ${exclusive}`,
    'spec.paramRef.parameterNotFoundAction: Unsupported value: "Bogus": supported values: "Deny", "Allow"',
    'spec.validationActions[1]: Duplicate value: "Deny"',
  ]);
});

describe("webhooks", () => {
  const kind = "ValidatingWebhookConfiguration";
  const webhook = (more: object = {}): object => ({
    name: "a.b.example.com",
    clientConfig: { url: "https://a.example.com/x" },
    rules: [rule],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    ...more,
  });
  const of = (...webhooks: object[]): string[] => problems(kind, { webhooks });

  test("need a name, no side effects, and a review that we speak", () => {
    assert.deepEqual(of(webhook()), []);
    assert.deepEqual(
      of(webhook({ name: "a.b", sideEffects: "Some", admissionReviewVersions: ["v2"], timeoutSeconds: 31 })),
      [
        'webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots',
        'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
        'webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1',
      ],
    );
    assert.deepEqual(of(webhook(), webhook()), ['webhooks[1].name: Duplicate value: "a.b.example.com"']);
  });

  test("are at an https URL without anything but host and path, or at a service", () => {
    const at = (clientConfig: object): string[] =>
      of(webhook({ clientConfig })).map((text) => text.replace("webhooks[0].clientConfig", ""));
    assert.deepEqual(at({}), [": Required value: exactly one of url or service is required"]);
    assert.deepEqual(at({ url: "http://u:p@h/x?q#f" }), [
      `.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
      '.url: Invalid value: "u:p": user information is not permitted in the URL',
      '.url: Invalid value: "f": fragments are not permitted in the URL',
      '.url: Invalid value: "q": query parameters are not permitted in the URL',
    ]);
    assert.deepEqual(at({ url: "https://h:x" }), [
      '.url: Required value: url must be a valid URL: parse "https://h:x": invalid port ":x" after host; desired format: https://host[/path]',
    ]);
    assert.deepEqual(at({ service: { name: "s", namespace: "n", port: 443, path: "/a//b" } }), [
      '.service.path: Invalid value: "/a//b": segment[1] may not be empty',
    ]);
  });

  test("keep what they had when it was still allowed", () => {
    const old = { webhooks: [webhook({ sideEffects: "Some", name: "a.b.c" }), webhook({ name: "a.b.c" })] };
    assert.deepEqual(problems(kind, old, old), []);
    assert.equal(problems(kind, old, { webhooks: [webhook()] }).length, 2);
  });
});
