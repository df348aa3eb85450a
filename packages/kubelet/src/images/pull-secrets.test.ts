import assert from "node:assert/strict";
import { test } from "node:test";
import type { Secret } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { credentialsFor } from "./pull-secrets.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const secret = (auths: object, type = "kubernetes.io/dockerconfigjson"): Secret => {
  const [key, content] = type.endsWith("json") ? [".dockerconfigjson", { auths }] : [".dockercfg", auths];
  const data = { [key]: base64(JSON.stringify(content)) };
  return partial<Secret>({ metadata: { namespace: "ns", name: "s" }, type, data });
};
const user = (username: string) => ({ username, password: "p" });

/** Users whose credentials are tried, by image. */
const table: [auths: object, image: string, users: string[]][] = [
  [{ "registry.example": user("a") }, "registry.example/app:1", ["a"]],
  [{ "registry.example": user("a") }, "other.example/app", []],
  [{ "https://registry.example/v1/": user("a") }, "registry.example/x/app@sha256:00", ["a"]],
  [{ "registry.example:5000": user("a") }, "registry.example:5000/app", ["a"]],
  [{ "registry.example:5000": user("a") }, "registry.example/app", []],
  // The longest path first.
  [
    {
      "registry.example": user("all"),
      "registry.example/team/": user("team"),
      "registry.example/other": user("no"),
    },
    "registry.example/team/app",
    ["team", "all"],
  ],
  [{ "*.example": user("a"), "r*y.example": user("b") }, "registry.example/app", ["b", "a"]],
  [{ "*.example": user("a") }, "a.registry.example/app", []],
  // An image without a registry is on Docker Hub.
  [{ "https://index.docker.io/v1/": user("hub") }, "nginx", ["hub"]],
  [{ "index.docker.io": user("hub") }, "library/nginx:1", ["hub"]],
  [{ "docker.io": user("hub"), "https://index.docker.io/v1/": user("no") }, "docker.io/nginx", ["hub"]],
  [{ "docker.io/library": user("hub") }, "nginx", ["hub"]],
  [{ "https://index.docker.io/v1/": user("hub") }, "localhost/nginx", []],
];

test("credentials are those of the image's registry", () => {
  for (const [auths, image, users] of table)
    assert.deepEqual(
      credentialsFor(image, [secret(auths)]).map(({ username }) => username),
      users,
      `${JSON.stringify(auths)} for ${image}`,
    );
});

test("both types of secrets count, in either form; others do not", () => {
  const auth = { "r.example": { auth: base64("me:pa:ss") } };
  const expected = [{ username: "me", password: "pa:ss" }];
  assert.deepEqual(credentialsFor("r.example/x", [secret(auth)]), expected);
  assert.deepEqual(credentialsFor("r.example/x", [secret(auth, "kubernetes.io/dockercfg")]), expected);
  assert.deepEqual(credentialsFor("r.example/x", [{ ...secret(auth), type: "Opaque" }]), []);
});

test("a secret that cannot be read is named, and nothing of it is shown", () => {
  const broken = { ...secret({}), data: { ".dockerconfigjson": base64('{"hidden') } };
  assert.throws(() => credentialsFor("r.example/x", [broken]), {
    reason: "ErrImagePull",
    message: "secret ns/s: .dockerconfigjson is not valid JSON",
  });
  assert.throws(() => credentialsFor("r.example/x", [secret({ "r.example": { auth: base64("nocolon") } })]), {
    message: "secret ns/s: the auth of r.example must be formatted as base64(username:password)",
  });
});
