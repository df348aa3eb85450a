import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { after, before, describe, test } from "node:test";
import { type Clock, systemClock } from "@dray/client";
import { createAuthority } from "../../certificates/pki.ts";
import type { Answer, TestServer } from "../../testing/server.ts";
import type { AdmissionRequest } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";
import { ask } from "./ask.ts";
import { create, Hooks, configurations as path, type Reply } from "./testing.ts";

const hooks = new Hooks();
before(() => hooks.start());
after(() => hooks.stop());

describe("validating webhooks", () => {
  test("are sent the request as it is and may refuse it", async () => {
    const refuse: Reply = () => ({
      allowed: false,
      status: { message: "not here", reason: "Because", code: 418 },
    });
    const tested = await hooks.serverWith({ validating: [hooks.hook("refuse", refuse)] });
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
    const tested = await hooks.serverWith({
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
});

describe("selection of requests for validating webhooks", () => {
  test("see deletions with the old object, whole collections one by one", async () => {
    const tested = await hooks.serverWith({ validating: [hooks.hook("see", () => ({}))] });
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

  test("are called only for requests that match rules, selectors and conditions", async () => {
    const tested = await hooks.serverWith({
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

  test("are never called for webhook configurations", async () => {
    const every = { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] };
    const tested = await hooks.serverWith({
      validating: [hooks.hook("never", () => ({ allowed: false }), { rules: [every] })],
    });
    assert.equal((await create(tested)).status, 400);
    const gone = await tested.call("DELETE", `${path}/validatingwebhookconfigurations/hooks`);
    assert.equal(gone.status, 200);
    assert.equal((await create(tested)).status, 201);
    await tested.server.close();
  });
});

describe("webhooks that cannot be called", () => {
  const failure = async (webhook: object, clock?: Clock): Promise<string> => {
    const tested = await hooks.serverWith({ validating: [webhook] }, clock);
    const failed = await create(tested);
    assert.equal(failed.status, 500);
    assert.equal(failed.body.reason, "InternalError");
    await tested.server.close();
    const prefix = /^Internal error occurred: failed calling webhook "\w+\.webhooks\.example\.com": /;
    assert.match(failed.body.message, prefix);
    return failed.body.message.replace(prefix, "");
  };

  test("are named with the cause", async () => {
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

  test("fail after their timeout", async () => {
    // The time that a webhook has is the only wait of three seconds: it is over at once.
    const clock: Clock = {
      ...systemClock,
      after: (milliseconds, run) => systemClock.after(milliseconds === 3000 ? 0 : milliseconds, run),
    };
    const slow = hooks.hook("slow", () => undefined, { timeoutSeconds: 3 });
    assert.match(await failure(slow, clock), /\/slow\?timeout=3s": context deadline exceeded$/);
  });

  test("are ignored on failure with failurePolicy Ignore", async () => {
    const tested = await hooks.serverWith({
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
  tested = await hooks.serverWith({ validating: [hooks.hook("meddle", meddle)] });
  await create(tested);
  const updated = await tested.call("PATCH", url, { body: { data: { sent: "2" } } });
  assert.equal((await own)?.status, 200);
  assert.deepEqual(updated.body.data, { own: "1", sent: "2" });
  await tested.server.close();
});

test("a webhook with side effects rejects a dry run", async () => {
  // No such webhook can be stored any more; those stored before stay.
  const webhook = hooks.hook("effects", () => ({}), { sideEffects: "Some", failurePolicy: "Ignore" });
  const call = { hook: { webhook, id: "effects" } } as Parameters<typeof ask>[0];
  const request = { dryRun: true } as AdmissionRequest;
  await assert.rejects(ask(call, request, {} as AdmissionContext), {
    reason: "BadRequest",
    message: 'admission webhook "effects.webhooks.example.com" does not support dry run',
  });
});

test("a service is reached at a ready endpoint", { skip: noAddress }, async () => {
  const service = { name: "hook", namespace: "n", path: "/service" };
  const clientConfig = { service, caBundle: hooks.caBundle };
  const tested = await hooks.serverWith({
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
  const tested = await hooks.serverWith({
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
