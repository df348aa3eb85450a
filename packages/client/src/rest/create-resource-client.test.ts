import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "@dray/api/core/v1";
import { ClusterRole } from "@dray/api/rbac/v1";
import { hasReached } from "@dray/client";
import { withApiServer } from "@dray/testing/api-server";

test("null, which the server stores and returns as Go does, is absent or empty to callers", () =>
  withApiServer({}, async ({ admin }) => {
    const client = admin();
    const nodes = client.resource(Node);
    const stop = new AbortController();
    const informer = client.informer(Node);
    await informer.start(stop.signal);
    await nodes.create({ metadata: { name: "a" }, spec: {} });
    const written = await nodes.patch(
      { name: "a" },
      "merge",
      { status: { images: [{ names: null, sizeBytes: 1 }] } },
      { subresource: "status" },
    );
    assert.match(await client.text("GET", "/api/v1/nodes/a"), /"images":\[\{"names":null,"sizeBytes":1\}\]/);
    await informer.until(() => hasReached(informer, written));
    const [listed] = (await nodes.list()).items;
    for (const object of [written, await nodes.get({ name: "a" }), listed, informer.get({ name: "a" })])
      assert.deepEqual(object?.status?.images, [{ sizeBytes: 1 }]);
    const role = await client.resource(ClusterRole).create({ metadata: { name: "none" }, rules: [] });
    assert.equal("rules" in role, false);
    assert.match(
      await client.text("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/none"),
      /"rules":null/,
    );
    stop.abort();
  }));
