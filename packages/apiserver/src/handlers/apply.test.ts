import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing/server.ts";

/** Upstream: apimachinery, pkg/util/managedfields/internal, structuredmerge.go and skipnonapplied.go */
test("an object with a list element without its key cannot be applied to", async () => {
  const { server, call } = await testServer();
  const url = "/api/v1/namespaces/default/serviceaccounts";
  const headers = { "content-type": "application/apply-patch+yaml" };
  const apply = async (name: string, more: object): Promise<unknown> => {
    const body = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name }, ...more };
    const { status, body: answer } = await call("PATCH", `${url}/${name}?fieldManager=m`, { body, headers });
    return status === 200 ? status : [status, answer.reason, answer.message];
  };
  await call("POST", url, { body: { metadata: { name: "a" }, secrets: [{ namespace: "n" }] } });
  const problem =
    ".secrets: element 0: associative list with keys has an element that omits all key fields " +
    `["name"] (and doesn't have default values for any key fields)`;
  const failure = `failed to convert new object (default/a; /v1, Kind=ServiceAccount) to smd typed: ${problem}`;
  const first = [500, undefined, `failed to create manager for existing fields: ${failure}`];
  assert.deepEqual(await apply("a", {}), first);
  assert.deepEqual(await apply("a", { secrets: [{ name: "s" }] }), first);

  await server.close();
});

test("since 1.37 an object stays tracked when it gets a list element without its key", async () => {
  const answers = async (kubernetesVersion: "1.36" | "1.37"): Promise<readonly unknown[]> => {
    const { server, call } = await testServer({ kubernetesVersion });
    const url = "/api/v1/namespaces/default/serviceaccounts";
    const apply = { "content-type": "application/apply-patch+yaml" };
    const body = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "a", labels: { a: "b" } } };
    await call("PATCH", `${url}/a?fieldManager=m`, { body, headers: apply });
    const { body: live } = await call("GET", `${url}/a`);
    const { body: put } = await call("PUT", `${url}/a`, { body: { ...live, secrets: [{ namespace: "n" }] } });
    const { body: applied } = await call("PATCH", `${url}/a?fieldManager=m`, { body, headers: apply });
    await server.close();
    return [put.metadata.managedFields?.length, applied.message.split(" (")[0]];
  };
  const [dropped, kept] = [await answers("1.36"), await answers("1.37")];
  const before = "failed to create manager for existing fields: failed to convert new object";
  assert.deepEqual(dropped, [undefined, before]);
  assert.deepEqual(kept, [1, "failed to create typed live object"]);
});

test("claim templates of a StatefulSet may have apiVersion and kind, which a read one always has", async () => {
  const { server, call } = await testServer();
  const url = "/apis/apps/v1/namespaces/default/statefulsets/a?fieldManager=m";
  const headers = { "content-type": "application/apply-patch+yaml" };
  const template = {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
  const apply = async (claim: object, replicas: number): Promise<unknown> => {
    const spec = {
      replicas,
      serviceName: "a",
      selector: { matchLabels: { app: "a" } },
      template: { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "c", image: "i" }] } },
      volumeClaimTemplates: [claim],
    };
    const body = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "a" }, spec };
    const { status, body: answer } = await call("PATCH", url, { body, headers });
    return status < 300 ? [status, answer.spec.volumeClaimTemplates[0].kind] : [status, answer.message];
  };
  assert.deepEqual(await apply(template, 1), [201, "PersistentVolumeClaim"]);
  const whole = { apiVersion: "v1", kind: "PersistentVolumeClaim", ...template };
  assert.deepEqual(await apply(whole, 2), [200, "PersistentVolumeClaim"]);
  assert.deepEqual(await apply(template, 3), [200, "PersistentVolumeClaim"]);
  await server.close();
});
