import assert from "node:assert/strict";
import { test } from "node:test";
import { createSigningKey } from "../certificates/pki.ts";
import { type TestServer, testServer } from "../testing/server.ts";
import { type TokenClaims, TokenSigner } from "./token.ts";

const issuer = "https://kubernetes.default.svc";
const key = await createSigningKey();
const signer = new TokenSigner(key);

async function withAccount(): Promise<{
  readonly tested: TestServer;
  readonly claims: (more?: object) => TokenClaims;
  readonly review: (token: string) => Promise<{ authenticated?: boolean; error?: string }>;
  readonly advance: (seconds: number) => void;
}> {
  const start = Date.parse("2026-01-02T03:04:05Z");
  let now = start;
  const clock = { now: () => now, after: () => () => {} };
  const tested = await testServer({ clock, serviceAccounts: { key } });
  const made = await tested.call("POST", "/api/v1/namespaces/default/serviceaccounts", {
    body: { metadata: { name: "a" } },
  });
  const serviceaccount = { name: "a", uid: made.body.metadata.uid };
  const seconds = start / 1000;
  return {
    tested,
    claims: (more = {}) => ({
      aud: [issuer],
      exp: seconds + 3600,
      iat: seconds,
      nbf: seconds,
      iss: issuer,
      jti: "j",
      sub: "system:serviceaccount:default:a",
      "kubernetes.io": { namespace: "default", serviceaccount },
      ...more,
    }),
    async review(token) {
      const path = "/apis/authentication.k8s.io/v1/tokenreviews";
      const { status, body } = await tested.call("POST", path, { body: { spec: { token } } });
      assert.equal(status, 201, JSON.stringify(body));
      return body.status;
    },
    advance(by) {
      now += by * 1000;
    },
  };
}

test("a token has one spelling, one key and one issuer", async () => {
  const { tested, claims, review } = await withAccount();
  const good = signer.sign(claims());
  assert.equal((await review(good)).authenticated, true);
  for (const token of [
    `${good}==`,
    `${good}!`,
    `${good}.x`,
    good.replace(".", ".."),
    "a.b.c",
    "x".repeat(9000),
  ]) {
    assert.equal((await review(token)).error, "invalid bearer token");
  }
  assert.equal((await review(signer.sign(claims({ iss: "other" })))).error, "invalid bearer token");
  const unsigned = "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]";
  const [, body] = good.split(".");
  const none = Buffer.from('{"alg":"none"}').toString("base64url");
  assert.equal((await review(`${none}.${body}.`)).error, unsigned);
  const stranger = new TokenSigner(await createSigningKey()).sign(claims());
  assert.equal((await review(stranger)).error, "[invalid bearer token, invalid signature, no keys found]");
  const nobody = stranger.split(".");
  const anyKey = Buffer.from(JSON.stringify({ alg: signer.algorithm })).toString("base64url");
  assert.equal((await review([anyKey, ...nobody.slice(1)].join("."))).error, unsigned);
  await tested.server.close();
});

test("each time of a token has a minute of leeway and an error of its own", async () => {
  const { tested, claims, review } = await withAccount();
  const now = claims().iat!;
  const verdict = async (more: object) => {
    const { authenticated, error } = await review(signer.sign(claims(more)));
    return authenticated ? "" : error!.replace(/^\[invalid bearer token, (.*)\]$/, "$1");
  };
  assert.equal(await verdict({ exp: now - 30 }), "");
  assert.equal(await verdict({ exp: now - 90 }), "service account token has expired");
  assert.equal(await verdict({ nbf: now + 30 }), "");
  assert.equal(await verdict({ nbf: now + 90 }), "service account token is not valid yet");
  assert.equal(await verdict({ iat: now + 90 }), "service account token is issued in the future");
  assert.equal(await verdict({ exp: undefined }), "");
  assert.match(await verdict({ exp: "soon" }), /expected number value/);
  await tested.server.close();
});

test("signed claims of any shape are handled", async () => {
  const { tested, claims, review } = await withAccount();
  assert.equal((await review(signer.sign(claims({ aud: undefined })))).authenticated, true);
  assert.equal((await review(signer.sign(claims({ aud: issuer })))).authenticated, true);
  for (const own of [undefined, null, "x", {}]) {
    const { error } = await review(signer.sign(claims({ "kubernetes.io": own })));
    assert.equal(error, "[invalid bearer token, resource name may not be empty]");
  }
  await tested.server.close();
});

test("tokens of a pod that waits for its finalizers are invalid", async () => {
  const { tested, review, advance } = await withAccount();
  const pods = "/api/v1/namespaces/default/pods";
  await tested.call("POST", pods, {
    body: {
      metadata: { name: "p", finalizers: ["example.com/wait"] },
      spec: { serviceAccountName: "a", containers: [{ name: "c", image: "i" }] },
    },
  });
  const made = await tested.call("POST", "/api/v1/namespaces/default/serviceaccounts/a/token", {
    body: { spec: { boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "p" } } },
  });
  const { token } = made.body.status;
  assert.equal((await review(token)).authenticated, true);
  await tested.call("DELETE", `${pods}/p?gracePeriodSeconds=0`);
  advance(50);
  assert.equal((await review(token)).authenticated, true);
  advance(30);
  assert.match((await review(token)).error!, /service account token has been invalidated/);
  await tested.server.close();
});
