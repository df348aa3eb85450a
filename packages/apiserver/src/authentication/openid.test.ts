import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { get } from "node:https";
import { json } from "node:stream/consumers";
import { test } from "node:test";
import { createAuthority, issueCertificate } from "../index.ts";
import { testServer } from "../testing/server.ts";

const configurationPath = "/.well-known/openid-configuration";

/** Upstream: test/e2e/auth/service_accounts.go, ServiceAccountIssuerDiscovery */
test("a service account verifies its own token with the published keys of the issuer", async (t) => {
  const now = Date.now();
  const authority = await createAuthority("test-ca", now);
  const usages = ["server" as const];
  const names = { commonName: "kube-apiserver", ipAddresses: ["127.0.0.1"], usages };
  const pair = await issueCertificate(authority, names, now);
  const tested = await testServer({ serving: { ...pair, clientAuthority: authority.certificate } });
  t.after(() => tested.server.close());
  const { url, port } = await tested.server.listen();
  await tested.namespace("n");
  const issued = await tested.call("POST", "/api/v1/namespaces/n/serviceaccounts/default/token", {
    body: { spec: { audiences: ["oidc-discovery-test"], expirationSeconds: 600 } },
  });
  const token: string = issued.body.status.token;
  const read = async (address: string, bearer: string): Promise<Record<string, unknown>> => {
    const response = await new Promise<import("node:http").IncomingMessage>((resolve, reject) =>
      get(
        address,
        { ca: authority.certificate, headers: { authorization: `Bearer ${bearer}` } },
        resolve,
      ).once("error", reject),
    );
    assert.equal(response.statusCode, 200);
    return (await json(response)) as Record<string, unknown>;
  };
  // This token is for other audiences, so another one authenticates the request.
  const own = await tested.call("POST", "/api/v1/namespaces/n/serviceaccounts/default/token", {
    body: { spec: {} },
  });
  const configuration = await read(`${url}${configurationPath}`, own.body.status.token);
  const [head, claims, signature] = token.split(".") as [string, string, string];
  const { iss, aud } = JSON.parse(Buffer.from(claims, "base64url").toString());
  assert.deepEqual([configuration["issuer"], aud], [iss, ["oidc-discovery-test"]]);
  assert.equal(configuration["jwks_uri"], "https://127.0.0.1:6443/openid/v1/jwks");
  const keysAddress = String(configuration["jwks_uri"]).replace(":6443", `:${port}`);
  const { keys } = (await read(keysAddress, own.body.status.token)) as { keys: Record<string, string>[] };
  const { kid, alg } = JSON.parse(Buffer.from(head, "base64url").toString());
  const key = keys.find((each) => each["kid"] === kid)!;
  assert.deepEqual([key["alg"], configuration["id_token_signing_alg_values_supported"]], [alg, [alg]]);
  const signed = verify(
    "sha256",
    Buffer.from(`${head}.${claims}`),
    { key: createPublicKey({ key, format: "jwk" }), dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  assert.equal(signed, true);
});

test("the keys may be at another URL; an issuer that is not discoverable publishes nothing", async () => {
  for (const [issuer, status] of [
    ["https://issuer.example.com/x", 200],
    ["http://issuer.example.com", 404],
    ["https://issuer.example.com?x", 404],
    ["issuer", 404],
  ] as const) {
    const jwksUri = "https://keys.example.com/jwks";
    const tested = await testServer({ serviceAccounts: { issuer, jwksUri } });
    const answer = await tested.call("GET", configurationPath);
    assert.equal(answer.status, status, issuer);
    if (status === 200) assert.equal(answer.body.jwks_uri, jwksUri);
    const headers = { accept: "*/*" };
    assert.equal((await tested.call("GET", "/openid/v1/jwks", { headers })).status, status, issuer);
    await tested.server.close();
  }
});
