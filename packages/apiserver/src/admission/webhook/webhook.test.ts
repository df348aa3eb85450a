import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { after, before, describe, test } from "node:test";
import type { Clock } from "@dray/client";
import { systemClock } from "@dray/client";
import { createAuthority } from "../../certificates/pki.ts";
import { type Answer, type TestServer, testServer } from "../../testing/test-server.ts";
import type { AdmissionRequest } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";
import { ask } from "./ask.ts";
import { Hooks, type Reply } from "./test-hooks.ts";

const path = "/apis/admissionregistration.k8s.io/v1";

const hooks = new Hooks();
before(() => hooks.start());
after(() => hooks.stop());

type Kind = "validating" | "mutating";

async function serverWith(configured: Partial<Record<Kind, object[]>>, clock?: Clock): Promise<TestServer> {
  const tested = await testServer({ kubernetesVersion: "1.36", ...(clock ? { clock } : {}) });
  await tested.namespace("n");
  for (const [kind, webhooks] of Object.entries(configured)) {
    const configuration = { metadata: { name: "hooks" }, webhooks };
    const created = await tested.call("POST", `${path}/${kind}webhookconfigurations`, {
      body: configuration,
    });
    assert.equal(created.status, 201, created.body.message);
  }
  hooks.asked.length = 0;
  return tested;
}

function create(tested: TestServer, name = "c", query = ""): Promise<Answer> {
  return tested.call("POST", `/api/v1/namespaces/n/configmaps${query}`, { body: { metadata: { name } } });
}

const patch = (operations: readonly object[]): object => ({
  patchType: "JSONPatch",
  patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
});
const label = (key: string): object =>
  patch([{ op: "add", path: "/metadata/labels", value: { [key]: "yes" } }]);

describe("validating webhooks", () => {
  test("are sent the request as it is and may refuse it", async () => {
    const refuse: Reply = () => ({
      allowed: false,
      status: { message: "not here", reason: "Because", code: 418 },
    });
    const tested = await serverWith({ validating: [hooks.hook("refuse", refuse)] });
    const refused = await create(tested, "c", "?fieldManager=m&dryRun=All");
    assert.equal(refused.status, 418);
    assert.equal(refused.body.reason, "Because");
    assert.equal(
      refused.body.message,
      'admission webhook "refuse.webhooks.example.com" denied the request: not here',
    );
    const [asked] = hooks.asked;
    assert.equal(asked!.path, "/refuse?timeout=10s");
    const { uid, object, userInfo, ...request } = asked!.review.request;
    assert.match(uid, /^[0-9a-f-]{36}$/);
    assert.equal(object.metadata.name, "c");
    assert.equal(object.metadata.namespace, "n");
    assert.deepEqual(userInfo, { username: "admin", groups: ["system:masters", "system:authenticated"] });
    const [kind, resource] = [
      { group: "", version: "v1", kind: "ConfigMap" },
      { group: "", version: "v1", resource: "configmaps" },
    ];
    assert.deepEqual(request, {
      kind,
      resource,
      requestKind: kind,
      requestResource: resource,
      name: "c",
      namespace: "n",
      operation: "CREATE",
      oldObject: null,
      dryRun: true,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "m", dryRun: ["All"] },
    });
    await tested.server.close();
  });

  test("say why or not, warn, and use one connection again", async () => {
    const tested = await serverWith({
      validating: [
        hooks.hook("silent", ({ request }) => ({ allowed: request.name !== "bad" })),
        hooks.hook("warns", () => ({ warnings: ['a "text"'] })),
      ],
    });
    assert.equal(
      (await create(tested, "bad")).body.message,
      'admission webhook "silent.webhooks.example.com" denied the request without explanation',
    );
    const allowed = await create(tested, "good");
    assert.equal(allowed.status, 201);
    assert.deepEqual(allowed.headers["warning"], ['299 - "a \\"text\\""']);
    assert.equal(new Set(hooks.asked.map(({ port }) => port)).size, 2);
    await tested.server.close();
  });

  test("see deletions with the old object, whole collections one by one", async () => {
    const tested = await serverWith({ validating: [hooks.hook("see", () => ({}))] });
    await create(tested, "a");
    await create(tested, "b");
    await tested.call("DELETE", "/api/v1/namespaces/n/configmaps/a?gracePeriodSeconds=0");
    await tested.call("DELETE", "/api/v1/namespaces/n/configmaps");
    const deleted = hooks.asked.filter(({ review }) => review.request.operation === "DELETE");
    const seen = deleted.map(({ review: { request } }) => [
      request.name,
      request.object,
      request.oldObject.metadata.name,
    ]);
    assert.deepEqual(seen.slice(0, 2), [
      ["a", null, "a"],
      [undefined, null, "b"],
    ]);
    assert.equal(deleted[0]!.review.request.options.gracePeriodSeconds, 0);
    await tested.server.close();
  });

  test("are asked only where rules, selectors and conditions say so", async () => {
    const tested = await serverWith({
      validating: [
        hooks.hook("conditions", () => ({}), {
          matchConditions: [{ name: "not-c", expression: "object.metadata.name != 'c'" }],
        }),
        hooks.hook("objects", () => ({}), { objectSelector: { matchLabels: { a: "b" } } }),
        hooks.hook("namespaces", () => ({}), { namespaceSelector: { matchLabels: { a: "b" } } }),
        hooks.hook("scope", () => ({}), {
          rules: [
            { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"], scope: "Cluster" },
          ],
        }),
      ],
    });
    assert.equal((await create(tested)).status, 201);
    assert.deepEqual(hooks.asked, []);
    await create(tested, "d");
    assert.deepEqual(
      hooks.asked.map(({ path: url }) => url),
      ["/conditions?timeout=10s"],
    );
    await tested.server.close();
  });

  test("are never asked about webhooks", async () => {
    const every = { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] };
    const tested = await serverWith({
      validating: [hooks.hook("never", () => ({ allowed: false }), { rules: [every] })],
    });
    assert.equal((await create(tested)).status, 400);
    const gone = await tested.call("DELETE", `${path}/validatingwebhookconfigurations/hooks`);
    assert.equal(gone.status, 200);
    assert.equal((await create(tested)).status, 201);
    await tested.server.close();
  });
});

describe("webhooks that cannot be asked", () => {
  const failure = async (webhook: object, clock?: Clock): Promise<string> => {
    const tested = await serverWith({ validating: [webhook] }, clock);
    const failed = await create(tested);
    assert.equal(failed.status, 500);
    assert.equal(failed.body.reason, "InternalError");
    await tested.server.close();
    const prefix = /^Internal error occurred: failed calling webhook "\w+\.webhooks\.example\.com": /;
    assert.match(failed.body.message, prefix);
    return failed.body.message.replace(prefix, "");
  };

  test("are named with what has happened", async () => {
    const { port, caBundle } = hooks;
    const at = (url: string, ca = caBundle): object => ({ clientConfig: { url, caBundle: ca } });
    const post = (url: string): string => `failed to call webhook: Post "${url}?timeout=10s":`;
    const none = hooks.hook("none", () => ({}), at("https://127.0.0.1:1/none"));
    assert.equal(
      await failure(none),
      `${post("https://127.0.0.1:1/none")} dial tcp 127.0.0.1:1: connect: connection refused`,
    );
    const url = `https://127.0.0.1:${port}/other`;
    const other = await createAuthority("other", Date.now());
    const untrusted = at(url, Buffer.from(other.certificate).toString("base64"));
    assert.equal(
      await failure(hooks.hook("other", () => ({}), untrusted)),
      `${post(url)} tls: failed to verify certificate: x509: certificate signed by unknown authority`,
    );
    assert.equal(
      await failure(hooks.hook("code", () => 404)),
      "failed to call webhook: the server could not find the requested resource",
    );
    assert.match(
      await failure(hooks.hook("text", () => "hello")),
      /couldn't get version\/kind; json parse error/,
    );
    assert.match(
      await failure(hooks.hook("uid", () => ({ uid: "x" }))),
      /^received invalid webhook response: expected response\.uid="[-0-9a-f]{36}", got "x"$/,
    );
    const service = { clientConfig: { service: { name: "nosuch", namespace: "n", path: "/x" }, caBundle } };
    assert.equal(
      await failure(hooks.hook("service", () => ({}), service)),
      `${post("https://nosuch.n.svc:443/x")} service "nosuch" not found`,
    );
  });

  test("have only so much time", async () => {
    // The time that a webhook has is the only wait of three seconds: it is over at once.
    const clock: Clock = {
      ...systemClock,
      after: (milliseconds, run) => systemClock.after(milliseconds === 3000 ? 0 : milliseconds, run),
    };
    const slow = hooks.hook("slow", () => undefined, { timeoutSeconds: 3 });
    assert.match(await failure(slow, clock), /\/slow\?timeout=3s": context deadline exceeded$/);
  });

  test("are passed over where failures are to be ignored", async () => {
    const tested = await serverWith({
      validating: [hooks.hook("ignored", () => 500, { failurePolicy: "Ignore" })],
      mutating: [hooks.hook("ignored", () => 500, { failurePolicy: "Ignore" })],
    });
    assert.equal((await create(tested)).status, 201);
    assert.equal(hooks.asked.length, 2);
    await tested.server.close();
  });
});

/** Endpoints must not be on the loopback interface. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
const noAddress = ownAddress === undefined && "this machine has no IPv4 address but loopback";

test("a webhook may write the object that it is asked about", async () => {
  const url = "/api/v1/namespaces/n/configmaps/c";
  let tested: TestServer | undefined;
  let own: Promise<Answer> | undefined;
  const meddle: Reply = ({ request }) => {
    if (request.operation !== "UPDATE" || own !== undefined) return {};
    own = tested!.call("PATCH", url, { body: { data: { own: "1" } } });
    // The answer waits for that write.
    return own.then(() => ({}));
  };
  tested = await serverWith({ validating: [hooks.hook("meddle", meddle)] });
  await create(tested);
  const updated = await tested.call("PATCH", url, { body: { data: { sent: "2" } } });
  assert.equal((await own)?.status, 200);
  assert.deepEqual(updated.body.data, { own: "1", sent: "2" });
  await tested.server.close();
});

test("who has effects beside its answer is not asked in a dry run", async () => {
  // No such webhook can be stored any more; those stored before stay.
  const webhook = hooks.hook("effects", () => ({}), { sideEffects: "Some", failurePolicy: "Ignore" });
  const call = { hook: { webhook, id: "effects" } } as unknown as Parameters<typeof ask>[0];
  const request = { dryRun: true } as AdmissionRequest;
  await assert.rejects(ask(call, request, {} as AdmissionContext, false), {
    reason: "BadRequest",
    message: 'admission webhook "effects.webhooks.example.com" does not support dry run',
  });
});

test("a service is reached at a ready endpoint", { skip: noAddress }, async () => {
  const service = { name: "hook", namespace: "n", path: "/service" };
  const clientConfig = { service, caBundle: hooks.caBundle };
  const tested = await serverWith({
    validating: [hooks.hook("service", () => ({ allowed: false }), { clientConfig })],
  });
  await tested.call("POST", "/api/v1/namespaces/n/services", {
    body: { metadata: { name: "hook" }, spec: { ports: [{ name: "https", port: 443 }] } },
  });
  const slice = await tested.call("POST", "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices", {
    body: {
      metadata: { name: "hook-1", labels: { "kubernetes.io/service-name": "hook" } },
      addressType: "IPv4",
      ports: [{ name: "https", port: hooks.port }],
      endpoints: [
        { addresses: ["192.0.2.9"], conditions: { ready: false } },
        { addresses: [ownAddress], conditions: { ready: true } },
      ],
    },
  });
  assert.equal(slice.status, 201, slice.body.message);
  assert.match((await create(tested)).body.message, /denied the request without explanation$/);
  assert.equal(hooks.asked[0]!.path, "/service?timeout=10s");
  await tested.server.close();
});

test("a service without endpoints is reached at a ready pod that it selects", async () => {
  const service = { name: "hook", namespace: "n", path: "/service" };
  const clientConfig = { service, caBundle: hooks.caBundle };
  const tested = await serverWith({
    validating: [hooks.hook("service", () => ({ allowed: false }), { clientConfig })],
  });
  const labels = { app: "hook" };
  await tested.call("POST", "/api/v1/namespaces/n/services", {
    body: {
      metadata: { name: "hook" },
      spec: { selector: labels, ports: [{ port: 443, targetPort: "https" }] },
    },
  });
  const pod = async (name: string, podLabels: object, podIP: string, ready: string): Promise<void> => {
    const ports = [{ name: "https", containerPort: hooks.port }];
    const url = "/api/v1/namespaces/n/pods";
    await tested.call("POST", url, {
      body: {
        metadata: { name, labels: podLabels },
        spec: { containers: [{ name: "c", image: "i", ports }] },
      },
    });
    const status = { podIP, podIPs: [{ ip: podIP }], conditions: [{ type: "Ready", status: ready }] };
    const patched = await tested.call("PATCH", `${url}/${name}/status`, { body: { status } });
    assert.equal(patched.status, 200, patched.body.message);
  };
  await pod("a-other", { app: "other" }, "192.0.2.9", "True");
  await pod("b-unready", labels, "192.0.2.9", "False");
  await pod("c-ready", labels, "127.0.0.1", "True");
  assert.match((await create(tested)).body.message, /denied the request without explanation$/);
  assert.equal(hooks.asked[0]!.path, "/service?timeout=10s");
  await tested.server.close();
});

describe("mutating webhooks", () => {
  test("change the object, which gets its defaults and is checked", async () => {
    const pods = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
    const sidecar = patch([
      { op: "add", path: "/spec/containers/-", value: { name: "sidecar", image: "s" } },
    ]);
    const tested = await serverWith({ mutating: [hooks.hook("sidecar", () => sidecar, { rules: [pods] })] });
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
    const tested = await serverWith({ mutating: [hooks.hook("remove", () => remove)] });
    const failed = await create(tested);
    assert.equal(failed.status, 500);
    assert.equal(
      failed.body.message,
      "Internal error occurred: error in remove for path: '/nosuch': Unable to remove nonexistent key: nosuch: missing value",
    );
    await tested.server.close();
  });

  test("see what those before have made; who wants to is asked again about later changes", async () => {
    for (const [reinvocationPolicy, urls] of [
      ["Never", ["/first", "/second"]],
      ["IfNeeded", ["/first", "/second", "/first"]],
    ] as const) {
      const tested = await serverWith({
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
    const tested = await serverWith({ mutating: [hooks.hook("scale", () => seven, { rules: [scale] })] });
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

  test("give nobody rights that the sender does not have", async () => {
    const roles = {
      apiGroups: ["rbac.authorization.k8s.io"],
      apiVersions: ["v1"],
      operations: ["CREATE"],
      resources: ["roles"],
    };
    const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
    const widen = patch([{ op: "add", path: "/rules", value: everything }]);
    const tested = await serverWith({});
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
