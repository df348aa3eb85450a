import assert from "node:assert/strict";
import { test } from "node:test";
import { type TestServer, testServer } from "../testing/server.ts";

const group = "rbac.authorization.k8s.io";
const rbac = `/apis/${group}/v1`;
const roles = `${rbac}/clusterroles`;
const pods = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };

/** A server on which the user `eve` may write roles and bindings, and read pods. */
async function withEve(...more: object[]): Promise<TestServer> {
  const tested = await testServer();
  const rules = [
    { verbs: ["get", "create", "update", "patch"], apiGroups: [group], resources: ["*"] },
    pods,
    ...more,
  ];
  await tested.call("POST", roles, { body: { metadata: { name: "eve" }, rules } });
  await tested.call("POST", `${rbac}/clusterrolebindings`, {
    body: {
      metadata: { name: "eve" },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "eve" },
      subjects: [{ kind: "User", apiGroup: group, name: "eve" }],
    },
  });
  return tested;
}

test("an aggregation label on a role requires the rules of the role", async () => {
  const { server, call } = await withEve();
  const body = { metadata: { labels: { [`rbac.authorization.k8s.io/aggregate-to-view`]: "true" } } };
  const refused = await call("PATCH", `${roles}/cluster-admin`, { user: "eve", body });
  assert.equal(refused.status, 403);
  assert.match(refused.body.message, /is attempting to grant RBAC permissions not currently held/);
  await call("POST", roles, { body: { metadata: { name: "held" }, rules: [pods] } });
  assert.equal((await call("PATCH", `${roles}/held`, { user: "eve", body })).status, 200);
  await server.close();
});

test("a change of finalizers does not require the rules of the role", async () => {
  const { server, call } = await withEve();
  await call("POST", roles, { body: { metadata: { name: "strong" }, rules: [everything] } });
  const finalizers = ["example.com/wait"];
  const patched = await call("PATCH", `${roles}/strong`, { user: "eve", body: { metadata: { finalizers } } });
  assert.equal(patched.status, 200);
  await server.close();
});

test("an aggregation rule is neither added nor taken away without all rights", async () => {
  const { server, call } = await withEve();
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] };
  const message = (name: string): string =>
    `clusterroles.rbac.authorization.k8s.io "${name}" is forbidden: must have cluster-admin privileges to use the aggregationRule`;
  const created = await call("POST", roles, {
    user: "eve",
    body: { metadata: { name: "n" }, aggregationRule },
  });
  assert.equal(created.body.message, message("n"));
  await call("POST", roles, { body: { metadata: { name: "sum" }, aggregationRule } });
  const freed = await call("PATCH", `${roles}/sum`, { user: "eve", body: { aggregationRule: null } });
  assert.equal(freed.body.message, message("sum"));
  await server.close();
});

test("the right to escalate one role does not hold for creating it", async () => {
  const { server, call } = await withEve({
    verbs: ["escalate"],
    apiGroups: [group],
    resources: ["clusterroles"],
    resourceNames: ["mine"],
  });
  const body = { metadata: { name: "mine" }, rules: [everything] };
  assert.equal((await call("POST", roles, { user: "eve", body })).status, 403);
  // By PUT and by server-side apply the URL names the role.
  const headers = { "content-type": "application/apply-patch+yaml" };
  const applied = { apiVersion: `${group}/v1`, kind: "ClusterRole", ...body };
  const url = `${roles}/mine?dryRun=All&fieldManager=m`;
  assert.equal((await call("PATCH", url, { user: "eve", body: applied, headers })).status, 201);
  assert.equal((await call("PUT", `${roles}/mine`, { user: "eve", body })).status, 201);
  await server.close();
});

test("every change of a binding is checked; a missing role is not found", async () => {
  const { server, call } = await withEve();
  const bindings = `${rbac}/clusterrolebindings`;
  const body = { metadata: { labels: { a: "b" } } };
  assert.equal((await call("PATCH", `${bindings}/cluster-admin`, { user: "eve", body })).status, 403);
  const roleRef = { apiGroup: group, kind: "ClusterRole", name: "none" };
  const missing = await call("POST", bindings, { user: "eve", body: { metadata: { name: "x" }, roleRef } });
  assert.equal(missing.status, 404);
  assert.equal(missing.body.message, `clusterrolebindings.rbac.authorization.k8s.io "none" not found`);
  await server.close();
});

test("a rule with a billion combinations is compared at once", async () => {
  const names = Array.from({ length: 1000 }, (_, index) => `n${index}`);
  const rule = { verbs: names, apiGroups: names, resources: names };
  const { server, call } = await withEve({ verbs: ["*"], apiGroups: names, resources: ["*"] });
  const granted = await call("POST", roles, {
    user: "eve",
    body: { metadata: { name: "a" }, rules: [rule] },
  });
  assert.equal(granted.status, 201);
  const more = { ...rule, apiGroups: [...names, "another"] };
  const refused = await call("POST", roles, {
    user: "eve",
    body: { metadata: { name: "b" }, rules: [more] },
  });
  assert.equal(refused.status, 403);
  await server.close();
});
