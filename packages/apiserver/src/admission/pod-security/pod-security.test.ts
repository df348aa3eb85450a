import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../../testing/server.ts";

const label = "pod-security.kubernetes.io";

test("a namespace's labels decide which pods it takes, and of which it warns", async () => {
  const tested = await testServer();
  for (const [name, mode] of [
    ["strict", "enforce"],
    ["lax", "warn"],
  ] as const) {
    await tested.namespace(name);
    await tested.call("PATCH", `/api/v1/namespaces/${name}`, {
      body: { metadata: { labels: { [`${label}/${mode}`]: "restricted" } } },
    });
  }
  const pod = (namespace: string, spec: object = {}) =>
    tested.call("POST", `/api/v1/namespaces/${namespace}/pods`, {
      body: { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }], ...spec } },
    });
  const all =
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")';
  const refused = await pod("strict");
  assert.equal(refused.status, 403);
  assert.equal(
    refused.body.message,
    `pods "p" is forbidden: violates PodSecurity "restricted:latest": ${all}`,
  );
  const warned = await pod("lax");
  assert.equal(warned.status, 201);
  assert.match(String(warned.headers["warning"]), /would violate PodSecurity/);
  const made = await pod("strict", {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "c",
        image: "i",
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      },
    ],
  });
  assert.equal(made.status, 201, made.body.message);
  const bad = await tested.call("PATCH", "/api/v1/namespaces/lax", {
    body: { metadata: { labels: { [`${label}/enforce`]: "bogus" } } },
  });
  assert.equal(
    bad.body.message,
    'Namespace "lax" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "bogus": must be one of privileged, baseline, restricted',
  );
  const stricter = await tested.call("PATCH", "/api/v1/namespaces/lax", {
    body: { metadata: { labels: { [`${label}/enforce`]: "restricted" } } },
  });
  assert.equal(stricter.status, 200);
  assert.match(String(stricter.headers["warning"]), /p: allowPrivilegeEscalation != false/);
  await tested.server.close();
});
