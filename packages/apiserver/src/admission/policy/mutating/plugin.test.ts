import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type TestServer, testServer } from "../../../testing/server.ts";
import {
  addPolicies,
  annotates,
  applies,
  createConfigMap,
  createDeployment,
  patches,
  path,
  rule,
  serverWith,
  type TestPolicy,
} from "./testing.ts";

const by = "policy 'p0' with binding 'p0' denied request";

/** The annotations of a new config map. */
async function annotated(policies: readonly TestPolicy[]): Promise<Record<string, string>> {
  const tested = await serverWith(policies);
  const created = await createConfigMap(tested);
  assert.equal(created.status, 201, created.body.message);
  await tested.server.close();
  return created.body.metadata.annotations ?? {};
}

describe("MutatingAdmissionPolicy", () => {
  test("changes the stored object and does not own its fields", async () => {
    const tested = await serverWith([{ mutations: [applies("Object{spec: Object.spec{replicas: 1337}}")] }]);
    const created = await createDeployment(tested, { replicas: 1 });
    assert.equal(created.body.spec.replicas, 1337);
    const stored = await tested.call("GET", "/apis/apps/v1/namespaces/n/deployments/d");
    assert.equal(stored.body.spec.replicas, 1337);
    const managers = stored.body.metadata.managedFields.map(({ manager }: { manager: string }) => manager);
    assert.deepEqual(managers, ["test"]);
    const updated = await tested.call("PATCH", "/apis/apps/v1/namespaces/n/deployments/d", {
      body: { spec: { replicas: 2 } },
    });
    assert.equal(updated.body.spec.replicas, 1337);
    await tested.server.close();
  });

  test("acts by the names of policies, then of bindings, each on what those before have made", async () => {
    const tested = await serverWith([]);
    const paramKind = { apiVersion: "v1", kind: "ConfigMap" };
    for (const name of ["b", "a"]) {
      const log = `object.metadata.?annotations.log.orValue('') + '${name}' + params.data.v`;
      const spec = {
        matchConstraints: { resourceRules: [rule] },
        reinvocationPolicy: "Never",
        mutations: [annotates("log", log)],
        paramKind,
      };
      for (const v of ["1", "2"]) await createConfigMap(tested, `${name}${v}`, { data: { v } });
      await tested.call("POST", `${path}/mutatingadmissionpolicies`, { body: { metadata: { name }, spec } });
    }
    for (const [name, policyName, v] of [
      ["1", "b", 2],
      ["3", "a", 2],
      ["2", "a", 1],
    ] as const) {
      const paramRef = { name: `${policyName}${v}`, parameterNotFoundAction: "Deny" };
      await tested.call("POST", `${path}/mutatingadmissionpolicybindings`, {
        body: { metadata: { name }, spec: { policyName, paramRef } },
      });
    }
    const created = await createConfigMap(tested);
    assert.deepEqual(created.body.metadata.annotations, { log: "a1a2b2" });
    await tested.server.close();
  });

  test("does nothing without a binding or outside its rules", async () => {
    const mutations = [annotates("seen", "'yes'")];
    assert.deepEqual(await annotated([{ mutations, binding: false }]), {});
    const resourceRules = [{ ...rule, resources: ["deployments"] }];
    assert.deepEqual(await annotated([{ mutations, matchConstraints: { resourceRules } }]), {});
    const other = { namespaceSelector: { matchLabels: { a: "b" } } };
    assert.deepEqual(await annotated([{ mutations, binding: { matchResources: other } }]), {});
    const matchConditions = [{ name: "other", expression: "object.metadata.name != 'c'" }];
    assert.deepEqual(await annotated([{ mutations, matchConditions }]), {});
    assert.deepEqual(await annotated([{ mutations }]), { seen: "yes" });
  });

  test("sees the request, its namespace, the old object, the authorizer, parameters and variables", async () => {
    const tested = await serverWith([
      {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        variables: [{ name: "twice", expression: "params.data.word + params.data.word" }],
        matchConditions: [{ name: "named", expression: "params != null && request.name == 'c'" }],
        mutations: [
          annotates("words", "variables.twice"),
          annotates("operation", "request.operation + ' in ' + namespaceObject.metadata.name"),
          annotates("was", "oldObject == null ? 'new' : oldObject.metadata.annotations['was'] + '!'"),
          annotates("may", "string(authorizer.group('').resource('pods').check('get').allowed())"),
        ],
        binding: { paramRef: { selector: {}, parameterNotFoundAction: "Deny" } },
      },
    ]);
    const missing = await createConfigMap(tested, "p", { data: { word: "x" } });
    const noParams = "no params found for policy binding with `Deny` parameterNotFoundAction";
    assert.equal(missing.status, 403);
    assert.equal(missing.body.reason, "Forbidden");
    assert.equal(missing.body.message, `${by}: failed to configure binding: ${noParams}`);
    await tested.call("PATCH", `${path}/mutatingadmissionpolicybindings/p0`, {
      body: { spec: { paramRef: { parameterNotFoundAction: "Allow" } } },
    });
    assert.equal((await createConfigMap(tested, "p", { data: { word: "x" } })).status, 201);
    await tested.call("PATCH", `${path}/mutatingadmissionpolicybindings/p0`, {
      body: { spec: { paramRef: { name: "p", selector: null } } },
    });
    const created = await createConfigMap(tested);
    const annotations = { words: "xx", operation: "CREATE in n", was: "new", may: "true" };
    assert.deepEqual(created.body.metadata.annotations, annotations);
    const updated = await tested.call("PATCH", "/api/v1/namespaces/n/configmaps/c", {
      body: { data: { a: "b" } },
    });
    assert.deepEqual(updated.body.metadata.annotations, {
      ...annotations,
      operation: "UPDATE in n",
      was: "new!",
    });
    await tested.server.close();
  });
});

describe("failures of MutatingAdmissionPolicies", () => {
  test("a failure denies the request, and names policy, binding and every failure", async () => {
    const tested = await serverWith([
      {
        mutations: [annotates("a", "object.data.nope"), annotates("b", "'b'"), annotates("c", "string(1/0)")],
      },
    ]);
    const refused = await createConfigMap(tested, "c", { data: { a: "b" } });
    assert.equal(refused.status, 403);
    assert.equal(refused.body.reason, "Invalid");
    const texts = ["no such key: nope", "division by zero"].map((why) => new RegExp(`^${by}: .*${why}$`));
    const { causes, ...details } = refused.body.details;
    assert.deepEqual(details, { name: "c", kind: "configmaps" });
    assert.equal(causes.length, 2);
    texts.forEach((text, i) => {
      assert.match(causes[i].message, text);
    });
    assert.equal(refused.body.message, causes[0].message);
    await tested.server.close();
  });

  test("where failures are ignored the other mutations are made", async () => {
    const mutations = [annotates("a", "object.data.nope"), annotates("b", "'b'")];
    assert.deepEqual(await annotated([{ mutations, failurePolicy: "Ignore" }]), { b: "b" });
  });

  test("an unknown kind of parameters is a failure of the policy", async () => {
    const tested = await serverWith([
      { paramKind: { apiVersion: "x.io/v1", kind: "Limit" }, mutations: [annotates("a", "'b'")] },
    ]);
    const refused = await createConfigMap(tested);
    assert.match(
      refused.body.message,
      /^policy "p0" denied request: failed to configure policy: failed to find resource referenced by paramKind: 'x\.io\/v1, Kind=Limit'$/,
    );
    await tested.server.close();
  });
});

describe("objects of MutatingAdmissionPolicies", () => {
  test("mutating policies do not change policies", async () => {
    const all = { ...rule, apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] };
    const tested = await serverWith([
      { matchConstraints: { resourceRules: [all] }, mutations: [annotates("a", "'b'")] },
    ]);
    const touched = await tested.call("PATCH", `${path}/mutatingadmissionpolicies/p0`, {
      body: { metadata: { labels: { x: "y" } } },
    });
    assert.equal(touched.body.metadata.annotations, undefined);
    await tested.server.close();
  });

  test("other versions of a resource are converted to the one that a rule names", async () => {
    const tested = await testServer({ runtimeConfig: { "api/all": true } });
    await tested.namespace("n");
    const claims = { ...rule, apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"] };
    await addPolicies(tested, [
      {
        matchConstraints: { resourceRules: [claims] },
        mutations: [
          patches(
            "[JSONPatch{op: 'replace', path: '/spec/devices/requests/0/exactly/deviceClassName', value: 'changed'}]",
          ),
          annotates("kinds", "request.requestKind.version + ' as ' + request.kind.version"),
        ],
      },
    ]);
    const spec = { devices: { requests: [{ name: "r", deviceClassName: "first" }] } };
    const created = await tested.call("POST", "/apis/resource.k8s.io/v1beta1/namespaces/n/resourceclaims", {
      body: { metadata: { name: "c" }, spec },
    });
    assert.equal(created.status, 201, created.body.message);
    assert.equal(created.body.spec.devices.requests[0].deviceClassName, "changed");
    assert.deepEqual(created.body.metadata.annotations, { kinds: "v1beta1 as v1" });
    await tested.server.close();
  });

  test("a subresource is changed as what it is; options of a connection have no schema", async () => {
    const resources = ["deployments/scale", "deployments/status", "pods/exec"];
    const tested = await serverWith([
      {
        matchConstraints: { resourceRules: [{ ...rule, operations: ["*"], resources }] },
        matchConditions: [{ name: "scale", expression: "request.subResource != 'status'" }],
        mutations: [applies("Object{spec: Object.spec{replicas: 5}}")],
      },
    ]);
    const deployment = "/apis/apps/v1/namespaces/n/deployments/d";
    assert.equal((await createDeployment(tested)).body.spec.replicas, 1);
    const scaled = await tested.call("PATCH", `${deployment}/scale`, { body: { spec: { replicas: 2 } } });
    assert.equal(scaled.body.spec.replicas, 5, scaled.body.message);
    assert.equal((await tested.call("GET", deployment)).body.spec.replicas, 5);
    const status = await tested.call("PATCH", `${deployment}/status`, { body: { status: { replicas: 3 } } });
    assert.equal(status.body.status.replicas, 3);
    const connected = await tested.call("POST", "/api/v1/namespaces/n/pods/p/exec?command=x");
    assert.equal(
      connected.body.message,
      `${by}: error applying patch: failed to convert patch object to typed object: no corresponding type for /v1, Kind=PodExecOptions`,
    );
    await tested.server.close();
  });

  test("the result is validated as any object", async () => {
    const tested = await serverWith([{ mutations: [applies("Object{spec: Object.spec{replicas: -1}}")] }]);
    const refused = await createDeployment(tested);
    assert.equal(refused.status, 422);
    assert.match(refused.body.message, /spec\.replicas: Invalid value: -1/);
    await tested.server.close();
  });
});

describe("MutatingAdmissionPolicy in the API", () => {
  test("a write of a policy reports compile errors with their field", async () => {
    const tested = await testServer();
    const create = (mutation: object): ReturnType<TestServer["call"]> =>
      tested.call("POST", `${path}/mutatingadmissionpolicies`, {
        body: {
          metadata: { name: "p" },
          spec: {
            matchConstraints: { resourceRules: [rule] },
            reinvocationPolicy: "Never",
            mutations: [mutation],
          },
        },
      });
    const cases: readonly [object, string, string][] = [
      [applies("'a'"), "applyConfiguration", "must evaluate to Object but got string"],
      [applies("Object.spec{}"), "applyConfiguration", "must evaluate to Object but got Object.spec"],
      [patches("[Object{}]"), "jsonPatch", "must evaluate to list(JSONPatch) but got list(Object)"],
      [
        patches("[JSONPatch{op: 1}]"),
        "jsonPatch",
        "expected type of field 'op' is 'string' but provided type is 'int'",
      ],
      [applies("Object"), "applyConfiguration", "must evaluate to Object but got type(Object)"],
      [applies("Objects{}"), "applyConfiguration", "undeclared reference to 'Objects' (in container '')"],
    ];
    for (const [mutation, field, text] of cases) {
      const refused = await create(mutation);
      assert.equal(refused.status, 422);
      const [cause] = refused.body.details.causes;
      assert.equal(cause.field, `spec.mutations[0].${field}.expression`);
      assert.ok(cause.message.includes(text), cause.message);
    }
    await tested.server.close();
  });

  test("is served and acts by release and gate", async () => {
    const beta = "/apis/admissionregistration.k8s.io/v1beta1";
    const policy = {
      metadata: { name: "p" },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        reinvocationPolicy: "Never",
        mutations: [annotates("a", "'b'")],
      },
    };
    const binding = { metadata: { name: "p" }, spec: { policyName: "p" } };
    for (const [kubernetesVersion, gate, expected] of [
      ["1.34", undefined, undefined],
      ["1.34", true, { a: "b" }],
      ["1.35", true, { a: "b" }],
      ["1.36", undefined, { a: "b" }],
      ["1.37", undefined, { a: "b" }],
      ["1.37", false, undefined],
    ] as const) {
      const tested = await testServer({
        kubernetesVersion,
        runtimeConfig: { "api/beta": true },
        ...(gate === undefined ? {} : { featureGates: new Map([["MutatingAdmissionPolicy", gate]]) }),
      });
      await tested.namespace("n");
      const stable = await tested.call("GET", `${path}/mutatingadmissionpolicies`);
      assert.equal(stable.status, kubernetesVersion < "1.36" ? 404 : 200, kubernetesVersion);
      await tested.call("POST", `${beta}/mutatingadmissionpolicies`, { body: policy });
      await tested.call("POST", `${beta}/mutatingadmissionpolicybindings`, { body: binding });
      const created = await createConfigMap(tested);
      assert.deepEqual(created.body.metadata.annotations, expected, `${kubernetesVersion} ${gate}`);
      await tested.server.close();
    }
  });
});
