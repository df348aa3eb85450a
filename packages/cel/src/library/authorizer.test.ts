import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type AuthorizationCheck,
  AuthorizerValue,
  authorizerType,
  createEnvironment,
  ResourceCheckValue,
  resourceCheckType,
} from "../index.ts";
import { testOutcomes } from "../testing/outcomes.ts";

testOutcomes([
  [
    'dyn(1).path("x").allowed()',
    "compilation failed: ERROR: <input>:1:25: found no matching overload for 'allowed' applied to 'kubernetes.authorization.PathCheck.()'",
  ],
  [
    'path("x")',
    "compilation failed: ERROR: <input>:1:5: found no matching overload for 'path' applied to '(string)'",
  ],
  [
    '"x".path(1) == 1',
    "compilation failed: ERROR: <input>:1:9: found no matching overload for 'path' applied to 'string.(int)'",
  ],
  [
    '"x".check(1)',
    "compilation failed: ERROR: <input>:1:10: found no matching overload for 'check' applied to 'string.(int)'",
  ],
]);

describe("an authorizer", () => {
  const environment = createEnvironment({
    variables: { authorizer: authorizerType, "authorizer.requestResource": resourceCheckType },
  });
  const asked: AuthorizationCheck[] = [];
  const authorizer = new AuthorizerValue((check) => {
    asked.push(check);
    const allowed = check.verb === "get";
    return { allowed, reason: allowed ? "rule" : "", ...(check.verb === "err" ? { error: "broken" } : {}) };
  });
  const run = (expression: string): unknown => {
    asked.length = 0;
    const program = environment.compile(expression);
    assert.ok(program.ok, program.ok ? "" : program.error);
    const requestResource = new ResourceCheckValue(authorizer, { resource: "pods", name: "p" });
    const result = program.evaluate({ authorizer, "authorizer.requestResource": requestResource });
    return result.error ?? result.value;
  };
  const firstAsked = (): AuthorizationCheck | undefined => asked[0];
  const nothing = {
    group: "",
    resource: "",
    subresource: "",
    namespace: "",
    name: "",
    fieldSelector: "",
    labelSelector: "",
  };

  test("checks a resource with all its fields", () => {
    const chain =
      'authorizer.group("apps").resource("d").subresource("scale").namespace("n").name("x").fieldSelector("a=b").labelSelector("c")';
    assert.equal(run(`${chain}.check("get").allowed()`), true);
    assert.deepEqual(asked, [
      {
        verb: "get",
        group: "apps",
        resource: "d",
        subresource: "scale",
        namespace: "n",
        name: "x",
        fieldSelector: "a=b",
        labelSelector: "c",
      },
    ]);
  });

  test("checks a path, the requested resource, and a service account", () => {
    assert.equal(run('authorizer.path("/x").check("put").allowed()'), false);
    assert.deepEqual(asked, [{ ...nothing, path: "/x", verb: "put" }]);
    assert.equal(run('authorizer.requestResource.check("get").reason()'), "rule");
    assert.deepEqual(asked, [{ ...nothing, resource: "pods", name: "p", verb: "get" }]);
    run('authorizer.serviceAccount("n", "a").path("/x").check("get").allowed()');
    assert.deepEqual(firstAsked()?.serviceAccount, { namespace: "n", name: "a" });
  });

  test("reports invalid checks and errors", () => {
    assert.equal(run('authorizer.path(" ").check("get").allowed()'), "path must not be empty");
    assert.equal(
      run('authorizer.group("").resource("").check("get").allowed()'),
      "resource must not be empty",
    );
    assert.equal(
      run('authorizer.serviceAccount("n", "A_").path("/").check("get").allowed()'),
      "Invalid service account name",
    );
    assert.equal(run('authorizer.path("/").check("err").errored()'), true);
    assert.equal(run('authorizer.path("/").check("err").error()'), "broken");
  });

  test("costs what upstream charges for a check", () => {
    const program = environment.compile('authorizer.path("/").check("get").allowed()');
    assert.ok(program.ok);
    assert.ok(program.evaluate({ authorizer }).cost > 350_000);
  });
});
