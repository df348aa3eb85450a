import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing/server.ts";

const now = "2026-01-02T03:04:05Z";
const clock = { now: () => Date.parse(now), after: () => () => {} };

test("the response of a review contains its spec and its field manager", async () => {
  const { server, call } = await testServer({ clock });
  const spec = { resourceAttributes: { verb: "get", resource: "pods" } };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const { body } = await call("POST", path, { body: { spec } });
  assert.deepEqual(body, {
    kind: "SelfSubjectAccessReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: {
      managedFields: [
        {
          manager: "test",
          operation: "Update",
          apiVersion: "authorization.k8s.io/v1",
          time: now,
          fieldsType: "FieldsV1",
          fieldsV1: {
            "f:spec": { "f:resourceAttributes": { ".": {}, "f:resource": {}, "f:verb": {} } },
          },
        },
      ],
    },
    spec,
    status: { allowed: true },
  });
  const tokens = await call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
    body: { metadata: { name: "q", uid: "u", labels: { a: "b" } }, spec: { token: "x" } },
  });
  const { managedFields, ...metadata } = tokens.body.metadata;
  assert.deepEqual(metadata, { name: "q", labels: { a: "b" } });
  assert.equal(managedFields.length, 1);
  await server.close();
});

test("the response of a self review does not contain its spec", async () => {
  const { server, call } = await testServer({ clock });
  const self = await call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
    body: { metadata: { labels: { a: "b" } } },
  });
  assert.deepEqual(self.body.metadata, { creationTimestamp: now });
  const rules = await call("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
    body: { metadata: { labels: { a: "b" } }, spec: { namespace: "default" } },
  });
  assert.deepEqual([rules.body.metadata, rules.body.spec], [{}, {}]);
  await server.close();
});
