import assert from "node:assert/strict";
import { test } from "node:test";
import type { UserInfo } from "@dray/client";
import { fakeClock } from "@dray/testing/clock";
import { eventually } from "@dray/testing/eventually";
import { createSigningKey } from "../certificates/pki.ts";
import { type TestServer, testServer } from "../testing/server.ts";
import { type TokenClaims, TokenSigner } from "./token.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const group = "rbac.authorization.k8s.io";
const claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const spec = { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu" } }] } };

async function grant({ call }: TestServer, user: string, rules: object[]): Promise<void> {
  const metadata = { name: user };
  assert.equal((await call("POST", `${rbac}/clusterroles`, { body: { metadata, rules } })).status, 201);
  const roleRef = { apiGroup: group, kind: "ClusterRole", name: user };
  const subjects = [{ apiGroup: group, kind: "User", name: user }];
  const body = { metadata, roleRef, subjects };
  assert.equal((await call("POST", `${rbac}/clusterrolebindings`, { body })).status, 201);
}

test("a request without credentials is anonymous; an invalid token is rejected everywhere", async () => {
  const { server, call } = await testServer();
  const none = { credential: { type: "none" } } as const;
  const denied = await call("GET", "/api/v1/namespaces/default/configmaps/x", none);
  assert.equal(denied.status, 403);
  assert.equal(
    denied.body.message,
    'configmaps "x" is forbidden: User "system:anonymous" cannot get resource "configmaps" in API group "" in the namespace "default"',
  );
  assert.equal((await call("GET", "/version", none)).status, 200);
  const wrong = { credential: { type: "bearer", token: "nope" } } as const;
  assert.equal((await call("GET", "/healthz", wrong)).status, 401);
  await server.close();
});

test("a role applies as soon as its binding is written, until the binding is deleted", async () => {
  const tested = await testServer();
  const { server, call } = tested;
  const list = () => call("GET", "/api/v1/namespaces/default/configmaps", { user: "jo" });
  assert.equal((await list()).status, 403);
  await grant(tested, "jo", [{ verbs: ["list"], apiGroups: [""], resources: ["configmaps"] }]);
  assert.equal((await list()).status, 200);
  assert.equal((await call("GET", "/api/v1/namespaces/default/secrets", { user: "jo" })).status, 403);
  await call("DELETE", `${rbac}/clusterrolebindings/jo`);
  assert.equal((await list()).status, 403);
  await server.close();
});

test("edit contains the rules of view, and those that a labelled role adds to view", async () => {
  const { server, call } = await testServer();
  const metadata = { name: "more", labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } };
  const rules = [{ verbs: ["get"], apiGroups: ["x.example.com"], resources: ["things"] }];
  await call("POST", `${rbac}/clusterroles`, { body: { metadata, rules } });
  await call("GET", "/version");
  await eventually("the role edit is aggregated", async () => {
    const { body } = await call("GET", `${rbac}/clusterroles/edit`);
    const all = JSON.stringify(body.rules);
    return all.includes("things") && all.includes("pods/log");
  });
  await server.close();
});

test("users cannot grant rights that they do not have", async () => {
  const tested = await testServer();
  const { server, call } = tested;
  await grant(tested, "eve", [
    { verbs: ["*"], apiGroups: [group], resources: ["roles", "rolebindings"] },
    { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
  ]);
  // `*` on roles includes escalate, so it is removed.
  const rules = [
    { verbs: ["create", "get", "update"], apiGroups: [group], resources: ["roles", "rolebindings"] },
    { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
  ];
  await call("PATCH", `${rbac}/clusterroles/eve`, { body: { rules } });
  const roles = `${rbac}/namespaces/default/roles`;
  const held = { metadata: { name: "a" }, rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] };
  assert.equal((await call("POST", roles, { user: "eve", body: held })).status, 201);
  const more = {
    metadata: { name: "b" },
    rules: [{ verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] }],
  };
  const refused = await call("POST", roles, { user: "eve", body: more });
  assert.equal(refused.status, 403);
  assert.match(
    refused.body.message,
    /not currently held:\n\{APIGroups:\[""\], Resources:\["pods"\], Verbs:\["list"\]\}$/,
  );
  const binding = {
    metadata: { name: "c" },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [],
  };
  const bound = await call("POST", `${rbac}/namespaces/default/rolebindings`, { user: "eve", body: binding });
  assert.equal(bound.status, 403);
  await server.close();
});

test("impersonation requires the right to impersonate", async () => {
  const { server, call } = await testServer({
    tokens: [
      { token: "admin-token", user: { name: "admin", groups: ["system:masters"] } },
      { token: "plain", user: { name: "plain", groups: [] } },
    ],
  });
  const credential = { type: "bearer", token: "plain" } as const;
  const refused = await call("GET", "/version", { credential, user: "somebody" });
  assert.equal(refused.status, 403);
  // The error names the narrowest mode (KEP-5284).
  assert.equal(
    refused.body.message,
    'forbidden: User "plain" cannot impersonate-on:user-info:get path "/version"',
  );
  await server.close();
});

test("constrained impersonation needs the right to impersonate a user and the right to act in their name", async () => {
  const { server, call } = await testServer({
    tokens: [
      { token: "admin-token", user: { name: "admin", groups: ["system:masters"] } },
      { token: "plain", user: { name: "plain", groups: [] } },
    ],
  });
  const rbacPath = "/apis/rbac.authorization.k8s.io/v1";
  const grant = async (name: string, apiGroup: string, resource: string, verb: string): Promise<void> => {
    const rules = [{ verbs: [verb], apiGroups: [apiGroup], resources: [resource] }];
    await call("POST", `${rbacPath}/clusterroles`, { body: { metadata: { name }, rules } });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
    const subjects = [
      { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "plain" },
      { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "bob" },
    ];
    await call("POST", `${rbacPath}/clusterrolebindings`, {
      body: { metadata: { name }, roleRef, subjects },
    });
  };
  const credential = { type: "bearer", token: "plain" } as const;
  const list = (groups: string[] = []) =>
    call("GET", "/api/v1/pods", { credential, user: "bob", ...(groups.length > 0 ? { groups } : {}) });
  await grant("list", "", "pods", "list");
  await grant("on", "", "pods", "impersonate-on:user-info:list");
  assert.match((await list()).body.message, /cannot impersonate:user-info resource "users"/);
  await grant("as", "authentication.k8s.io", "users", "impersonate:user-info");
  assert.equal((await list()).status, 200);
  assert.match(
    (await list(["system:masters"])).body.message,
    /impersonating the system:masters group is not allowed$/,
  );
  assert.equal((await call("GET", "/api/v1/nodes", { credential, user: "bob" })).status, 403);
  await server.close();
});

test("a service account's token authenticates it, until its pod is gone", async () => {
  const clock = fakeClock(Date.parse("2026-01-02T03:04:05Z"));
  const { server, call } = await testServer({ clock });
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await call("POST", accounts, { body: { metadata: { name: "default" } } });
  await call("POST", "/api/v1/namespaces/default/pods", {
    body: { metadata: { name: "p" }, spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] } },
  });
  const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "p" };
  const made = await call("POST", `${accounts}/default/token`, { body: { spec: { boundObjectRef } } });
  assert.equal(made.status, 201);
  const { token } = made.body.status;
  const review = async () => {
    const body = { spec: { token } };
    return (await call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", { body })).body.status;
  };
  const { user, authenticated } = await review();
  assert.equal(authenticated, true);
  assert.equal(user.username, "system:serviceaccount:default:default");
  assert.deepEqual(user.extra["authentication.kubernetes.io/node-name"], ["n1"]);
  const forged = `${token.split(".").slice(0, 2).join(".")}.AAAA`;
  assert.equal(
    (await call("GET", "/version", { credential: { type: "bearer", token: forged } })).status,
    401,
  );
  await call("DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0");
  clock.advance(11_000);
  assert.match((await review()).error, /invalidated/);
  await server.close();
});

test("a token expires", async () => {
  const clock = fakeClock(Date.parse("2026-01-02T03:04:05Z"));
  const { server, call } = await testServer({ clock });
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await call("POST", accounts, { body: { metadata: { name: "a" } } });
  const made = await call("POST", `${accounts}/a/token`, { body: { spec: { expirationSeconds: 600 } } });
  const credential = { type: "bearer", token: made.body.status.token } as const;
  assert.equal((await call("GET", "/version", { credential })).status, 200);
  // A minute for clocks that differ.
  clock.advance(661_000);
  assert.equal((await call("GET", "/version", { credential })).status, 401);
  await server.close();
});

test("a node reads ClusterTrustBundles unless their gate is off", async () => {
  const user: UserInfo = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
  for (const [isOn, expected] of [
    [true, 200],
    [false, 403],
  ] as const) {
    const { server, call } = await testServer({ featureGates: new Map([["ClusterTrustBundle", isOn]]) });
    const as = { credential: { type: "user", user } } as const;
    const { status } = await call("GET", "/apis/certificates.k8s.io/v1/clustertrustbundles", as);
    assert.equal(status, expected);
    await server.close();
  }
});

test("a node reads what its pods refer to, and writes only its own slices", async () => {
  const { server, call, watch } = await testServer({ disabledAdmissionPlugins: ["ServiceAccount"] });
  const node: UserInfo = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
  const as = { credential: { type: "user", user: node } } as const;
  await call("POST", claims, { body: { metadata: { name: "used" }, spec } });
  await call("POST", claims, { body: { metadata: { name: "free" }, spec } });
  await call("POST", "/api/v1/namespaces/default/pods", {
    body: {
      metadata: { name: "p" },
      spec: {
        nodeName: "n1",
        containers: [{ name: "c", image: "i" }],
        resourceClaims: [{ name: "g", resourceClaimName: "used" }],
      },
    },
  });
  assert.equal((await call("GET", `${claims}/used`, as)).status, 200);
  const free = await call("GET", `${claims}/free`, as);
  assert.equal(free.status, 403);
  assert.match(free.body.message, /: node: no relationship found between node 'n1' and this object$/);
  assert.equal((await call("GET", claims, as)).status, 403);
  assert.equal((await call("GET", "/api/v1/pods", as)).status, 403);
  assert.equal((await call("GET", "/api/v1/pods?fieldSelector=spec.nodeName=n1", as)).body.items.length, 1);
  const slices = "/apis/resource.k8s.io/v1/resourceslices";
  const slice = (nodeName: string) => ({
    metadata: { name: `s-${nodeName}` },
    spec: {
      driver: "d.example.com",
      nodeName,
      pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
      devices: [],
    },
  });
  assert.equal((await call("POST", slices, { ...as, body: slice("n1") })).status, 201);
  assert.equal((await call("POST", slices, { ...as, body: slice("n2") })).status, 403);
  await call("POST", slices, { body: slice("n2") });
  assert.equal((await call("DELETE", `${slices}/s-n2`, as)).status, 403);
  const watched = await watch(`${slices}?watch=true&fieldSelector=spec.nodeName=n1`, 1, as);
  assert.equal(watched[0]!.object.metadata.name, "s-n1");
  await server.close();
});

test("the right to write a claim's status does not include its allocation", async () => {
  const tested = await testServer();
  const { server, call } = tested;
  await call("POST", claims, { body: { metadata: { name: "c" }, spec } });
  const rule = { apiGroups: ["resource.k8s.io"], resources: ["resourceclaims/status"], verbs: ["patch"] };
  await grant(tested, "half", [rule]);
  await grant(tested, "whole", [rule, { ...rule, resources: ["resourceclaims/binding"] }]);
  const results = [{ request: "r", driver: "d.example.com", pool: "p", device: "d0" }];
  const body = { status: { allocation: { devices: { results } } } };
  const refused = await call("PATCH", `${claims}/c/status`, { user: "half", body });
  assert.equal(refused.status, 422);
  assert.equal(refused.body.details.causes[0].field, "status.allocation");
  assert.equal((await call("PATCH", `${claims}/c/status`, { user: "whole", body })).status, 200);
  const devices = [{ driver: "d.example.com", pool: "p", device: "d0" }];
  const driver = await call("PATCH", `${claims}/c/status`, { user: "whole", body: { status: { devices } } });
  assert.equal(driver.body.details.causes[0].field, "status.devices");
  await server.close();
});

test("before 1.36 the right to write a claim's status includes its allocation", async () => {
  const tested = await testServer({ kubernetesVersion: "1.35" });
  const { server, call } = tested;
  await call("POST", claims, { body: { metadata: { name: "c" }, spec } });
  await grant(tested, "half", [
    { apiGroups: ["resource.k8s.io"], resources: ["resourceclaims/status"], verbs: ["patch"] },
  ]);
  const results = [{ request: "r", driver: "d.example.com", pool: "p", device: "d0" }];
  const body = { status: { allocation: { devices: { results } } } };
  assert.equal((await call("PATCH", `${claims}/c/status`, { user: "half", body })).status, 200);
  await server.close();
});

test("a token in a Secret is valid as long as the Secret and the account exist", async () => {
  const key = await createSigningKey();
  const tested = await testServer({ serviceAccounts: { key } });
  const { server, call, namespace } = tested;
  await namespace("n");
  const account = (await call("GET", "/api/v1/namespaces/n/serviceaccounts/default")).body;
  const prefix = "kubernetes.io/serviceaccount";
  const token = new TokenSigner(key).sign({
    iss: "kubernetes/serviceaccount",
    sub: "system:serviceaccount:n:default",
    [`${prefix}/namespace`]: "n",
    [`${prefix}/secret.name`]: "t",
    [`${prefix}/service-account.name`]: "default",
    [`${prefix}/service-account.uid`]: account.metadata.uid,
  } as unknown as TokenClaims);
  const credential = { type: "bearer", token } as const;
  assert.equal((await call("GET", "/version", { credential })).status, 401);
  await call("POST", "/api/v1/namespaces/n/secrets", {
    body: {
      metadata: { name: "t", annotations: { "kubernetes.io/service-account.name": "default" } },
      type: "kubernetes.io/service-account-token",
      data: { token: Buffer.from(token).toString("base64") },
    },
  });
  const review = await call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
    credential,
    body: {},
  });
  assert.equal(review.body.status?.userInfo.username, "system:serviceaccount:n:default");
  const marked = (await call("GET", "/api/v1/namespaces/n/secrets/t")).body.metadata.labels;
  assert.match(marked["kubernetes.io/legacy-token-last-used"], /^\d{4}-\d{2}-\d{2}$/);
  await call("DELETE", "/api/v1/namespaces/n/secrets/t");
  assert.equal((await call("GET", "/version", { credential })).status, 401);
  await server.close();
});
