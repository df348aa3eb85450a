import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { testServer } from "../testing/server.ts";

const maps = "/api/v1/namespaces/default/configmaps";

test("reads an object with nulls that another server has written", async () => {
  const { call, server, store } = await testServer();
  const put = (name: string, object: object) =>
    store.txn(
      [],
      [{ type: "put", key: `/registry/configmaps/default/${name}`, value: JSON.stringify(object) }],
    );
  const type = { apiVersion: "v1", kind: "ConfigMap" };
  await put("bare", { ...type, metadata: null });
  const metadata = { name: "odd", namespace: "default", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };
  await put("odd", {
    ...type,
    metadata: { ...metadata, managedFields: null, labels: null, finalizers: [null] },
    data: null,
    binaryData: null,
  });
  await eventually("the object is read", async () => (await call("GET", `${maps}/odd`)).status === 200);
  const { body } = await call("GET", `${maps}/odd`);
  const { resourceVersion: _, ...read } = body.metadata;
  assert.deepEqual({ ...body, metadata: read }, { ...type, metadata: { ...metadata, finalizers: [""] } });
  assert.equal((await call("GET", `${maps}/bare`)).status, 404);
  const patched = await call("PATCH", `${maps}/odd`, { body: { data: { a: "b" } } });
  assert.equal(patched.status, 422, "an empty finalizer is invalid");
  const mended = await call("PATCH", `${maps}/odd`, {
    body: { metadata: { finalizers: null }, data: { a: "b" } },
  });
  assert.deepEqual([mended.status, mended.body.data], [200, { a: "b" }]);
  await server.close();
  // A value that is not an object is an error at the start; nulls are read as absent there, too.
  await store.txn([], [{ type: "delete", key: "/registry/configmaps/default/bare" }]);
  await put("odd", { ...type, metadata: { ...metadata, managedFields: null } });
  const again = await testServer({ store });
  assert.equal((await again.call("GET", `${maps}/odd`)).status, 200);
  await again.server.close();
});
