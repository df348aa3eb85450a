import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeProtobuf } from "@dray/api/codec";
import { testServer } from "../testing/server.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const keys = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, ""]));
const configMap = (name: string, data: object) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});
const text = (value: unknown): string => JSON.stringify(value);

test("a body with too many values is rejected before it is read as an object, in every form", async () => {
  const { call, server } = await testServer();
  const many = configMap("many", keys(100_001));
  const endless = configMap("endless", { x: Array.from({ length: 150_001 }, () => 0) });
  const yaml = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: many}\ndata:\n${Object.keys(many.data)
    .map((key) => `  ${key}: ""\n`)
    .join("")}`;
  for (const [type, body, limit] of [
    ["application/json", text(many), 100_000],
    ["application/json", text(endless), 150_000],
    ["application/yaml", yaml, 100_000],
    ["application/vnd.kubernetes.protobuf", encodeProtobuf(many), 100_000],
  ] as const) {
    const answer = await call("POST", maps, { body, headers: { "content-type": type } });
    assert.deepEqual([answer.status, answer.body.reason], [413, "RequestEntityTooLarge"], type);
    assert.match(answer.body.message, new RegExp(`has more than ${limit} fields, keys and elements; divide`));
  }
  await server.close();
});

test("the result of a patch has the same limit; managedFields do not count", async () => {
  const { call, server } = await testServer();
  const created = await call("POST", maps, { body: configMap("wide", keys(60_000)) });
  assert.equal(created.status, 201);
  const patch = (type: string, body: unknown) =>
    call("PATCH", `${maps}/wide`, { body: text(body), headers: { "content-type": `application/${type}` } });
  const more = Object.fromEntries(Object.keys(keys(50_000)).map((key) => [`x${key}`, ""]));
  const { status, body } = await patch("merge-patch+json", { data: more });
  assert.deepEqual([status, body.reason], [413, "RequestEntityTooLarge"]);
  assert.match(body.message, /^Request entity too large: the patched object has more than 100000 fields/);
  // With those of their manager, the object has 120,000.
  assert.equal((await patch("merge-patch+json", { data: { k1: "x" } })).status, 200);
  const { body: read } = await call("GET", `${maps}/wide`);
  assert.equal((await call("PUT", `${maps}/wide`, { body: read })).status, 200);
  await server.close();
});
