import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing/server.ts";

const token = "abcdef.0123456789abcdef";
const path = "/api/v1/namespaces/kube-system/secrets";
const reviews = "/apis/authentication.k8s.io/v1/tokenreviews";

const secret = (data: Record<string, string> = {}, type = "bootstrap.kubernetes.io/token"): object => ({
  metadata: { namespace: "kube-system", name: "bootstrap-token-abcdef" },
  type,
  stringData: {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    ...data,
  },
});

async function userWith(draft: object, bootstrapTokens = true): Promise<unknown> {
  const tested = await testServer({ bootstrapTokens });
  const made = await tested.call("POST", path, { body: draft });
  assert.equal(made.status, 201, made.body.message);
  const review = await tested.call("POST", reviews, { body: { spec: { token } } });
  const { authenticated = false, user } = review.body.status;
  return authenticated ? [user.username, ...user.groups] : false;
}

test("a bootstrap token authenticates its user, with the groups of its Secret", async () => {
  const groups = "system:bootstrappers:kubeadm:default-node-token";
  assert.deepEqual(await userWith(secret({ "auth-extra-groups": groups })), [
    "system:bootstrap:abcdef",
    "system:bootstrappers",
    groups,
    "system:authenticated",
  ]);
});

test("bootstrap tokens that are expired, disabled, or of another use, type, secret or group are rejected", async () => {
  const past = { expiration: "2020-01-01T00:00:00Z" };
  assert.equal(await userWith(secret(past)), false);
  assert.equal(await userWith(secret({ expiration: "soon" })), false);
  assert.equal(await userWith(secret({ "usage-bootstrap-authentication": "false" })), false);
  assert.equal(await userWith(secret({ "token-secret": "fedcba9876543210" })), false);
  assert.equal(await userWith(secret({ "auth-extra-groups": "system:masters" })), false);
  assert.equal(await userWith(secret({}, "Opaque")), false);
  assert.equal(await userWith(secret(), false), false);
  assert.notEqual(await userWith(secret({ expiration: "2999-01-01T00:00:00Z" })), false);
});
