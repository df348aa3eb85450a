import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing/server.ts";

test("requests are counted by resource, and unknown names have no labels", async () => {
  const { server, call } = await testServer();
  const lines = async (): Promise<string[]> => (await call("GET", "/metrics")).body.split("\n");
  const requests = async (): Promise<string[]> =>
    (await lines()).filter((line) => line.startsWith("apiserver_request_total"));
  await call("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", {
    body: { metadata: { name: "a" } },
  });
  await call("GET", "/api/v1/namespaces/default/pods/none/log");
  await call("GET", "/apis/none.example.com/v1/none");
  await call("GET", "/api/v1/namespaces/default/pods/none/none");
  await call("NONE", "/livez");
  const first = await requests();
  for (const [method, path] of [
    ["POST", "configmaps"],
    ["GET", "pods"],
  ])
    assert.ok(
      first.some((line) => line.includes(`resource="${path}"`) && line.includes(`verb="${method}"`)),
      `${method} ${path}`,
    );
  assert.ok(first.some((line) => line.includes('subresource="log"')));
  assert.ok(first.some((line) => line.includes('verb="other"')));
  assert.ok(!first.some((line) => /none/i.test(line)), first.join("\n"));
  for (let at = 0; at < 100; at++) {
    await call("GET", `/apis/none${at}.example.com/v${at}/none${at}`);
    await call("GET", `/api/v1/none${at}`, { user: "stranger" });
    await call("PUT", `/api/v1/namespaces/default/pods/none/none${at}`, { user: "stranger" });
    await call(`NONE${at}`, "/livez");
    await call(`NONE${at}`, `/api/v1/namespaces/default/pods/none/none${at}`);
  }
  assert.ok((await requests()).length < first.length + 20);
  await server.close();
});
