import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing/server.ts";

test("a list that came empty is one with a generated name too", async () => {
  const { server, call } = await testServer();
  const spec = {
    driver: "d.example.com",
    nodeName: "n",
    pool: { name: "n", generation: 1, resourceSliceCount: 1 },
    devices: [{ name: "d" }],
    sharedCounters: [],
  };
  const refused = async (metadata: object): Promise<string> =>
    (await call("POST", "/apis/resource.k8s.io/v1/resourceslices", { body: { metadata, spec } })).body
      .message;
  const named = await refused({ name: "s" });
  assert.match(named, /only one of `sharedCounters` or `devices` is allowed/);
  const generated = await refused({ generateName: "s" });
  assert.equal(generated.replace(/"s[a-z0-9]{5}"/, '"s"'), named);
  await server.close();
});

test("an empty list belongs to the manager of an object with a generated name", async () => {
  const { server, call } = await testServer();
  const url = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
  const owned = async (metadata: object): Promise<unknown> => {
    const { body } = await call("POST", url, { body: { metadata, rules: [] } });
    return body.metadata.managedFields[0].fieldsV1["f:rules"];
  };
  assert.deepEqual(await owned({ name: "r" }), {});
  assert.deepEqual(await owned({ generateName: "r" }), {});
  await server.close();
});
