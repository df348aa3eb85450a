import assert from "node:assert/strict";
import test from "node:test";
import { eventually } from "@dray/testing/eventually";
import { createAuthority, issueCertificate } from "../certificates/pki.ts";
import { type TestServer, testServer } from "../testing/server.ts";

const now = Date.now();
const clients = await createAuthority("clients", now);
const proxies = await createAuthority("proxies", now);
const another = await createAuthority("another", now);
const pair = await issueCertificate(clients, { commonName: "s", usages: ["server"] }, now);
const path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

const dataOf = async ({ call }: TestServer): Promise<Record<string, string>> =>
  (await call("GET", path)).body.data ?? {};

test("the ConfigMap for API servers behind this one is created and kept", async () => {
  const tested = await testServer({
    serving: { ...pair, clientAuthority: `${clients.certificate}\n${clients.certificate}` },
    requestHeader: { clientAuthority: proxies.certificate, allowedNames: ["front"] },
  });
  const wanted = {
    "client-ca-file": clients.certificate.trim().concat("\n"),
    "requestheader-client-ca-file": proxies.certificate.trim().concat("\n"),
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-uid-headers": '["X-Remote-Uid"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    "requestheader-allowed-names": '["front"]',
  };
  assert.deepEqual(await dataOf(tested), wanted);
  await tested.call("DELETE", path);
  await eventually("it is restored", async () => Object.keys(await dataOf(tested)).length === 7);
  const more = {
    "client-ca-file": another.certificate,
    "requestheader-allowed-names": '["other"]',
    "requestheader-group-headers": "spoilt",
  };
  await tested.call("PATCH", path, { body: { data: more } });
  await eventually(
    "it is corrected",
    async () => (await dataOf(tested))["requestheader-group-headers"] !== "spoilt",
  );
  assert.deepEqual(await dataOf(tested), {
    ...wanted,
    "client-ca-file": `${another.certificate.trim()}\n${clients.certificate.trim()}\n`,
    "requestheader-allowed-names": '["other","front"]',
  });
  await tested.server.close();
});

test("without front proxies the ConfigMap has no keys for them, and without authorities it does not exist", async () => {
  const tested = await testServer({ serving: { ...pair, clientAuthority: clients.certificate } });
  assert.deepEqual(Object.keys(await dataOf(tested)), ["client-ca-file"]);
  await tested.server.close();
  const bare = await testServer();
  assert.equal((await bare.call("GET", path)).status, 404);
  await bare.server.close();
});
