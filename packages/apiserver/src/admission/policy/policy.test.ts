import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Answer, type TestServer, testServer } from "../../testing/server.ts";

const path = "/apis/admissionregistration.k8s.io/v1";
const rule = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE"],
  resources: ["configmaps"],
};

type Spec = Readonly<Record<string, unknown>>;

async function serverWith(policies: readonly (Spec & { readonly binding?: Spec })[]): Promise<TestServer> {
  const tested = await testServer({ kubernetesVersion: "1.36" });
  await tested.namespace("n");
  for (const [i, { binding, ...spec }] of policies.entries()) {
    const metadata = { name: `p${i}` };
    const matchConstraints = { resourceRules: [rule] };
    const created = await tested.call("POST", `${path}/validatingadmissionpolicies`, {
      body: { metadata, spec: { matchConstraints, ...spec } },
    });
    assert.equal(created.status, 201, created.body.message);
    const bound = await tested.call("POST", `${path}/validatingadmissionpolicybindings`, {
      body: { metadata, spec: { policyName: metadata.name, validationActions: ["Deny"], ...binding } },
    });
    assert.equal(bound.status, 201, bound.body.message);
  }
  return tested;
}

function create(tested: TestServer, name: string, data: Record<string, string> = {}): Promise<Answer> {
  return tested.call("POST", "/api/v1/namespaces/n/configmaps", { body: { metadata: { name }, data } });
}

describe("ValidatingAdmissionPolicy", () => {
  test("refuses with the text of policy, binding and validation, and the reason's code", async () => {
    const tested = await serverWith([
      {
        validations: [
          { expression: "object.metadata.name != 'a'", message: "no a" },
          {
            expression: "object.metadata.name != 'b'",
            messageExpression: "'not ' + object.metadata.name",
            reason: "Forbidden",
          },
        ],
      },
    ]);
    const a = await create(tested, "a");
    assert.equal(a.status, 422);
    assert.equal(a.body.reason, "Invalid");
    const by = "ValidatingAdmissionPolicy 'p0' with binding 'p0' denied request";
    assert.equal(a.body.message, `configmaps "a" is forbidden: ${by}: no a`);
    assert.deepEqual(a.body.details, { name: "a", kind: "configmaps", causes: [{ message: `${by}: no a` }] });
    const b = await create(tested, "b");
    assert.equal(b.status, 403);
    assert.match(b.body.message, /: not b$/);
    assert.equal((await create(tested, "c")).status, 201);
    await tested.server.close();
  });

  test("an expression that fails refuses, unless failures are ignored", async () => {
    const validations = [{ expression: "object.data.nosuch == 'x'" }];
    const fails = await serverWith([{ validations }]);
    assert.match(
      (await create(fails, "c", { a: "b" })).body.message,
      /expression 'object\.data\.nosuch == 'x'' resulted in error: no such key: nosuch$/,
    );
    await fails.server.close();
    const ignores = await serverWith([{ validations, failurePolicy: "Ignore" }]);
    assert.equal((await create(ignores, "c", { a: "b" })).status, 201);
    await ignores.server.close();
  });

  test("warns instead if the binding requests it, and ignores requests with a false match condition", async () => {
    const tested = await serverWith([
      {
        validations: [{ expression: "false", message: "careful" }],
        matchConditions: [{ name: "not-c", expression: "request.name != 'c'" }],
        binding: { validationActions: ["Warn"] },
      },
    ]);
    const warned = await create(tested, "a");
    assert.equal(warned.status, 201);
    const text = "Validation failed for ValidatingAdmissionPolicy 'p0' with binding 'p0': careful";
    assert.deepEqual(warned.headers["warning"], [`299 - "${text}"`]);
    assert.equal((await create(tested, "c")).headers["warning"], undefined);
    await tested.server.close();
  });
});

describe("variables and parameters of ValidatingAdmissionPolicies", () => {
  test("variables are computed when they are looked at, each once, from those before", async () => {
    const tested = await serverWith([
      {
        variables: [
          { name: "bad", expression: "1 / 0" },
          { name: "size", expression: "object.?data.orValue({}).size()" },
          { name: "odd", expression: "variables.size % 2 == 1" },
        ],
        validations: [
          { expression: "!variables.odd", messageExpression: "'odd: ' + string(variables.size)" },
          { expression: "variables.size < 4 || variables.bad == 1" },
        ],
      },
    ]);
    assert.equal((await create(tested, "two", { a: "", b: "" })).status, 201);
    assert.match((await create(tested, "one", { a: "" })).body.message, /: odd: 1$/);
    assert.match(
      (await create(tested, "four", { a: "", b: "", c: "", d: "" })).body.message,
      /composited variable "bad" fails to evaluate: division by zero$/,
    );
    await tested.server.close();
  });

  test("parameters come by name or selector, and their absence is as the binding says", async () => {
    const policy = {
      paramKind: { apiVersion: "v1", kind: "Secret" },
      validations: [{ expression: "object.metadata.name != params.metadata.name" }],
    };
    const tested = await serverWith([
      { ...policy, binding: { paramRef: { name: "a", parameterNotFoundAction: "Deny" } } },
      {
        ...policy,
        binding: { paramRef: { selector: { matchLabels: { p: "1" } }, parameterNotFoundAction: "Allow" } },
      },
    ]);
    const missing = "no params found for policy binding with `Deny` parameterNotFoundAction";
    assert.match(
      (await create(tested, "x")).body.message,
      new RegExp(`failed to configure binding: ${missing}$`),
    );
    for (const [name, labels] of [
      ["a", {}],
      ["b", { p: "1" }],
    ] as const) {
      await tested.call("POST", "/api/v1/namespaces/n/secrets", { body: { metadata: { name, labels } } });
    }
    assert.match((await create(tested, "a")).body.message, /'p0'.*failed expression/);
    assert.match((await create(tested, "b")).body.message, /'p1'.*failed expression/);
    assert.equal((await create(tested, "x")).status, 201);
    await tested.server.close();
  });

  test("a policy with parameters of an unknown kind rejects the requests that it matches", async () => {
    const tested = await serverWith([
      {
        paramKind: { apiVersion: "x.example.com/v1", kind: "Limit" },
        validations: [{ expression: "true" }],
      },
    ]);
    assert.match(
      (await create(tested, "a")).body.message,
      /ValidatingAdmissionPolicy 'p0' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'x\.example\.com\/v1, Kind=Limit'$/,
    );
    await tested.server.close();
  });
});

describe("versions and authorization in ValidatingAdmissionPolicies", () => {
  test("other versions of a resource are converted to the one that a rule names", async () => {
    const tested = await serverWith([
      {
        matchConstraints: {
          resourceRules: [{ ...rule, apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"] }],
        },
        validations: [
          {
            expression: "object.spec.devices.requests[0].exactly.deviceClassName != 'bad'",
            messageExpression: "request.requestKind.version + ' as ' + request.kind.version",
          },
        ],
      },
    ]);
    const spec = { devices: { requests: [{ name: "r", deviceClassName: "bad" }] } };
    const beta = "/apis/resource.k8s.io/v1beta1/namespaces/n/resourceclaims";
    const off = await tested.call("POST", beta, { body: { metadata: { name: "c" }, spec } });
    assert.equal(off.status, 404);
    await tested.server.close();
    const server = await testServer({
      kubernetesVersion: "1.36",
      runtimeConfig: { "api/all": true },
      store: tested.store,
    });
    const refused = await server.call("POST", beta, { body: { metadata: { name: "c" }, spec } });
    assert.match(refused.body.message, /: v1beta1 as v1$/);
    await server.server.close();
  });

  test("asks the authorizer about the user and about service accounts", async () => {
    const tested = await serverWith([
      {
        validations: [
          {
            expression: "authorizer.requestResource.check('delete').allowed()",
            messageExpression: "request.userInfo.username + ' ' + request.userInfo.groups.join(',')",
          },
          {
            expression:
              "!authorizer.serviceAccount('n', 'robot').group('').resource('secrets').check('list').allowed()",
          },
        ],
      },
    ]);
    assert.equal((await create(tested, "a")).status, 201);
    await tested.call("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/n/roles", {
      body: {
        metadata: { name: "r" },
        rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }],
      },
    });
    await tested.call("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/n/rolebindings", {
      body: {
        metadata: { name: "r" },
        roleRef: { kind: "Role", name: "r" },
        subjects: [{ kind: "User", name: "jane" }],
      },
    });
    const refused = await tested.call("POST", "/api/v1/namespaces/n/configmaps", {
      body: { metadata: { name: "b" } },
      user: "jane",
      groups: ["devs"],
    });
    assert.match(refused.body.message, /: jane devs,system:authenticated$/);
    await tested.server.close();
  });
});

describe("subresources and deletions in ValidatingAdmissionPolicies", () => {
  test("sees an eviction, a binding, a scale and a token request as what they are", async () => {
    const tested = await serverWith([
      {
        matchConstraints: {
          resourceRules: [
            { ...rule, apiGroups: ["*"], resources: ["pods/eviction", "pods/binding", "*/scale", "*/token"] },
          ],
        },
        validations: [
          {
            expression: "false",
            messageExpression:
              "request.operation + ' ' + request.subResource + ' ' + object.kind + ' ' + object.metadata.name",
          },
        ],
      },
    ]);
    const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
    assert.equal((await tested.call("POST", "/api/v1/namespaces/n/pods", { body: pod })).status, 201);
    const template = { metadata: { labels: { a: "b" } }, spec: pod.spec };
    await tested.call("POST", "/apis/apps/v1/namespaces/n/deployments", {
      body: { metadata: { name: "d" }, spec: { selector: { matchLabels: { a: "b" } }, template } },
    });
    const pods = "/api/v1/namespaces/n/pods/p";
    const asked: readonly [method: string, url: string, body: object, text: string][] = [
      ["POST", `${pods}/eviction`, { metadata: { name: "p" } }, "CREATE eviction Eviction p"],
      [
        "POST",
        `${pods}/binding`,
        { metadata: { name: "p" }, target: { name: "x" } },
        "CREATE binding Binding p",
      ],
      [
        "PATCH",
        "/apis/apps/v1/namespaces/n/deployments/d/scale",
        { spec: { replicas: 3 } },
        "UPDATE scale Scale d",
      ],
      [
        "POST",
        "/api/v1/namespaces/n/serviceaccounts/default/token",
        { spec: {} },
        "CREATE token TokenRequest default",
      ],
    ];
    for (const [method, url, body, text] of asked) {
      const refused = await tested.call(method, url, { body });
      assert.equal(refused.status, 422, url);
      assert.ok(refused.body.message.endsWith(`: ${text}`), refused.body.message);
    }
    assert.equal((await tested.call("GET", pods)).body.spec.nodeName, undefined);
    await tested.server.close();
  });

  test("a deletion has no object; of a whole collection it has no name either", async () => {
    const tested = await serverWith([
      {
        matchConstraints: { resourceRules: [{ ...rule, operations: ["DELETE"] }] },
        validations: [
          {
            expression: "object != null",
            messageExpression: "oldObject.metadata.name + ' ' + (has(request.name) ? request.name : '-')",
          },
        ],
      },
    ]);
    await create(tested, "a");
    const url = "/api/v1/namespaces/n/configmaps";
    assert.match((await tested.call("DELETE", `${url}/a`)).body.message, /configmaps "a" is.*: a a$/);
    assert.match((await tested.call("DELETE", url)).body.message, /configmaps "Unknown" is.*: a -$/);
    await tested.server.close();
  });
});

describe("limits of ValidatingAdmissionPolicies", () => {
  test("expressions that cost too much together refuse", async () => {
    const loop = "object.data.l.split('').all(a, object.data.l.split('').all(b, a + b != 'x";
    const tested = await serverWith([
      { validations: Array.from({ length: 20 }, (_, i) => ({ expression: `${loop}${i}'))` })) },
    ]);
    assert.equal((await create(tested, "short", { l: "abc" })).status, 201);
    assert.match(
      (await create(tested, "long", { l: "a".repeat(330) })).body.message,
      /: validation failed due to running out of cost budget, no further validation rules will be run$/,
    );
    await tested.server.close();
  });

  test("policies are not asked about policies", async () => {
    const tested = await serverWith([
      {
        matchConstraints: {
          resourceRules: [{ ...rule, apiGroups: ["*"], operations: ["*"], resources: ["*"] }],
        },
        validations: [{ expression: "false" }],
      },
    ]);
    assert.equal((await create(tested, "a")).status, 422);
    assert.equal((await tested.call("DELETE", `${path}/validatingadmissionpolicybindings/p0`)).status, 200);
    assert.equal((await create(tested, "a")).status, 201);
    await tested.server.close();
  });
});

test("names fields that are reserved words, of objects and of requests", async () => {
  const names = [
    "object.metadata.namespace == 'n' && has(object.metadata.namespace)",
    "object.?metadata.?namespace.orValue('') == request.namespace",
    "object.data.function == 'f' && object.data.for == object.data['for']",
    "!has(namespaceObject.metadata.namespace) || variables.word == 'f'",
  ].join(" && ");
  const variables = [{ name: "word", expression: "object.data.function" }];
  const tested = await serverWith([{ variables, validations: [{ expression: names }] }]);
  const accepted = await create(tested, "a", { function: "f", for: "x" });
  assert.equal(accepted.status, 201, accepted.body.message);
  assert.equal((await create(tested, "b", { function: "g", for: "x" })).status, 422);
  await tested.server.close();
});
