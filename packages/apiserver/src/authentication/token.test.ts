import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { type TokenClaims, TokenSigner } from "./token.ts";

const pem = { format: "pem" } as const;

function pair(type: "ec" | "rsa"): { readonly key: string; readonly shown: string } {
  const { privateKey, publicKey } =
    type === "ec"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("rsa", { modulusLength: 2048 });
  return {
    key: privateKey.export({ ...pem, type: "pkcs8" }).toString(),
    shown: publicKey.export({ ...pem, type: "spki" }).toString(),
  };
}

const issuer = "https://issuer.example.com";
const claims: TokenClaims = {
  aud: [issuer],
  iss: issuer,
  jti: "j",
  sub: "s",
  "kubernetes.io": { namespace: "n", serviceaccount: { name: "a", uid: "u" } },
};
const kids = (signer: TokenSigner): unknown[] =>
  signer.publicKeys().map((key) => (key as { kid: string }).kid);

test("tokens of all verification keys are accepted, and all these keys are published", () => {
  const [old, now, other] = [pair("rsa"), pair("ec"), pair("ec")];
  const signer = new TokenSigner(now.key, [old.shown, now.shown]);
  const believed = (by: string): boolean =>
    "claims" in signer.verify(new TokenSigner(by).sign(claims), [issuer]);
  assert.deepEqual([old.key, now.key, other.key].map(believed), [true, true, false]);
  assert.deepEqual(kids(signer), [...kids(new TokenSigner(old.key)), ...kids(new TokenSigner(now.key))]);
  assert.deepEqual(signer.algorithms, ["ES256", "RS256"]);
});

test("a signer with other verification keys does not accept its own tokens", () => {
  const [own, other] = [pair("ec"), pair("ec")];
  const signer = new TokenSigner(own.key, [other.shown]);
  assert.deepEqual(signer.verify(signer.sign(claims), [issuer]), {
    error: "invalid signature, no keys found",
  });
  assert.deepEqual(new TokenSigner(own.key).algorithms, ["ES256"]);
});
