import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { testServer } from "../../testing/server.ts";
import { create, Hooks, label, patch, configurations as path } from "./testing.ts";

const hooks = new Hooks();
before(() => hooks.start());
after(() => hooks.stop());

describe("mutating webhooks", () => {
  test("change the object, which gets its defaults and is checked", async () => {
    const pods = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
    const sidecar = patch([
      { op: "add", path: "/spec/containers/-", value: { name: "sidecar", image: "s" } },
    ]);
    const tested = await hooks.serverWith({
      mutating: [hooks.hook("sidecar", () => sidecar, { rules: [pods] })],
    });
    const body = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
    const created = await tested.call("POST", "/api/v1/namespaces/n/pods", { body });
    assert.equal(created.status, 201, created.body.message);
    const [, second] = created.body.spec.containers;
    assert.equal(second.name, "sidecar");
    assert.equal(second.terminationMessagePath, "/dev/termination-log");
    await tested.server.close();
  });

  test("a patch that does not fit is an error of the server", async () => {
    const remove = patch([{ op: "remove", path: "/nosuch" }]);
    const tested = await hooks.serverWith({ mutating: [hooks.hook("remove", () => remove)] });
    const failed = await create(tested);
    assert.equal(failed.status, 500);
    assert.equal(
      failed.body.message,
      "Internal error occurred: error in remove for path: '/nosuch': Unable to remove nonexistent key: nosuch: missing value",
    );
    await tested.server.close();
  });

  test("see earlier changes; IfNeeded calls them again after later ones", async () => {
    for (const [reinvocationPolicy, urls] of [
      ["Never", ["/first", "/second"]],
      ["IfNeeded", ["/first", "/second", "/first"]],
    ] as const) {
      const tested = await hooks.serverWith({
        mutating: [
          hooks.hook("first", () => ({}), { reinvocationPolicy }),
          hooks.hook("second", () => label("second"), { reinvocationPolicy }),
        ],
      });
      const created = await create(tested);
      assert.deepEqual(created.body.metadata.labels, { second: "yes" });
      assert.deepEqual(
        hooks.asked.map(({ path: url }) => url.split("?")[0]),
        urls,
      );
      assert.deepEqual(
        hooks.asked.at(-1)!.review.request.object.metadata.labels,
        urls.length === 3 ? { second: "yes" } : undefined,
      );
      await tested.server.close();
    }
  });
});

describe("versions, subresources and rights with mutating webhooks", () => {
  test("speak the version that their rule names", async () => {
    const rule = {
      apiGroups: ["resource.k8s.io"],
      apiVersions: ["v1beta1"],
      operations: ["CREATE"],
      resources: ["resourceclaims"],
    };
    const change = patch([
      { op: "replace", path: "/spec/devices/requests/0/deviceClassName", value: "changed" },
    ]);
    const tested = await testServer({ kubernetesVersion: "1.36", runtimeConfig: { "api/all": true } });
    await tested.namespace("n");
    const webhooks = [hooks.hook("beta", () => change, { rules: [rule] })];
    await tested.call("POST", `${path}/mutatingwebhookconfigurations`, {
      body: { metadata: { name: "hooks" }, webhooks },
    });
    hooks.asked.length = 0;
    const spec = { devices: { requests: [{ name: "r", exactly: { deviceClassName: "c" } }] } };
    const created = await tested.call("POST", "/apis/resource.k8s.io/v1/namespaces/n/resourceclaims", {
      body: { metadata: { name: "c" }, spec },
    });
    assert.equal(created.status, 201, created.body.message);
    assert.equal(created.body.spec.devices.requests[0].exactly.deviceClassName, "changed");
    const { kind, requestKind, object } = hooks.asked[0]!.review.request;
    assert.deepEqual(
      [kind.version, requestKind.version, object.apiVersion],
      ["v1beta1", "v1", "resource.k8s.io/v1beta1"],
    );
    await tested.server.close();
  });

  test("change the number of replicas that a scale asks for", async () => {
    const scale = {
      apiGroups: ["apps"],
      apiVersions: ["v1"],
      operations: ["UPDATE"],
      resources: ["*/scale"],
    };
    const seven = patch([{ op: "replace", path: "/spec/replicas", value: 7 }]);
    const tested = await hooks.serverWith({
      mutating: [hooks.hook("scale", () => seven, { rules: [scale] })],
    });
    const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
    const deployments = "/apis/apps/v1/namespaces/n/deployments";
    await tested.call("POST", deployments, {
      body: { metadata: { name: "d" }, spec: { selector: { matchLabels: { a: "b" } }, template } },
    });
    const scaled = await tested.call("PATCH", `${deployments}/d/scale`, { body: { spec: { replicas: 3 } } });
    assert.equal(scaled.body.spec.replicas, 7);
    assert.equal((await tested.call("GET", `${deployments}/d`)).body.spec.replicas, 7);
    const { object, oldObject } = hooks.asked[0]!.review.request;
    assert.deepEqual([object.kind, object.spec.replicas, oldObject.spec.replicas], ["Scale", 3, 1]);
    await tested.server.close();
  });

  test("cannot grant rights that the sender lacks", async () => {
    const roles = {
      apiGroups: ["rbac.authorization.k8s.io"],
      apiVersions: ["v1"],
      operations: ["CREATE"],
      resources: ["roles"],
    };
    const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
    const widen = patch([{ op: "add", path: "/rules", value: everything }]);
    const tested = await hooks.serverWith({});
    const own = [{ apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"], verbs: ["create"] }];
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    await tested.call("POST", `${rbac}/clusterroles`, { body: { metadata: { name: "own" }, rules: own } });
    await tested.call("POST", `${rbac}/clusterrolebindings`, {
      body: {
        metadata: { name: "own" },
        roleRef: { kind: "ClusterRole", name: "own" },
        subjects: [{ kind: "User", name: "jane" }],
      },
    });
    await tested.call("POST", `${path}/mutatingwebhookconfigurations`, {
      body: { metadata: { name: "hooks" }, webhooks: [hooks.hook("widen", () => widen, { rules: [roles] })] },
    });
    const refused = await tested.call("POST", `${rbac}/namespaces/n/roles`, {
      body: { metadata: { name: "r" }, rules: own },
      user: "jane",
    });
    assert.equal(refused.status, 403);
    assert.match(refused.body.message, /is attempting to grant RBAC permissions not currently held/);
    await tested.server.close();
  });
});
