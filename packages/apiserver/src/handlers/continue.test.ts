import assert from "node:assert/strict";
import { test } from "node:test";
import { continueToken, expiredContinue, parseContinue } from "./continue.ts";

const token = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const refused = (text: string, reason: string): void => {
  assert.throws(() => parseContinue(text), {
    message: `invalid continue token: continue key is not valid: ${reason}`,
  });
};

test("a token is decoded to its contents", () => {
  assert.deepEqual(parseContinue(continueToken({ start: "n/a", revision: 7 })), {
    start: "n/a",
    revision: 7,
  });
});

test("malformed tokens are rejected with kube-apiserver's messages", () => {
  const version = "meta.k8s.io/v1";
  refused("!", "illegal base64 data at input byte 0");
  refused("garbage", "invalid character '\\u0081' looking for beginning of value");
  refused(token([]), "json: cannot unmarshal array into Go value of type storage.continueToken");
  refused(token(null), "server does not recognize this encoded version ");
  refused(
    token({ v: version, rv: "1" }),
    "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
  );
  refused(token({ v: version, start: "a" }), `incorrect encoded start resourceVersion (version ${version})`);
  refused(token({ v: version, rv: 1 }), `encoded start key empty (version ${version})`);
  refused(token({ v: version, rv: 1, start: "../a" }), "../a");
});

test("an expired token returns one to continue with", () => {
  const { metadata } = expiredContinue("n/a").status as { metadata?: { continue?: string } };
  assert.deepEqual(parseContinue(metadata?.continue ?? ""), { start: "n/a", revision: -1 });
});
