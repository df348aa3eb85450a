import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiRequest, UserInfo } from "@dray/client";
import { type Attributes, resourceAttributes } from "../authorization/attributes.ts";
import { impersonate } from "./impersonate.ts";

const sender: UserInfo = { name: "plain", groups: [] };
const request = resourceAttributes({ user: sender, verb: "list", group: "", resource: "pods" });

function ask(
  headers: Record<string, string>,
  repeated: ApiRequest["repeated"] = {},
  may: (attributes: Attributes) => boolean = () => true,
): UserInfo {
  return impersonate(
    request,
    { headers, repeated },
    (attributes) => ({ allowed: may(attributes), reason: "" }),
    true,
  );
}

test("a comma is part of a group's name: only repeated headers name several groups", () => {
  const one = ask({ "impersonate-user": "u", "impersonate-group": "a, b" });
  assert.deepEqual(one.groups, ["a, b", "system:authenticated"]);
  const two = ask(
    { "impersonate-user": "u", "impersonate-group": "a" },
    { "impersonate-user": ["u", "v"], "impersonate-group": ["a", "b"] },
  );
  assert.equal(two.name, "u");
  assert.deepEqual(two.groups, ["a", "b", "system:authenticated"]);
});

test("keys of extra may be escaped in any case, and may be names of Object.prototype", () => {
  const { extra } = ask(
    { "impersonate-user": "u", "impersonate-extra-a.b%2fc": "v,w", "impersonate-extra-a.b%2Fc": "x" },
    undefined,
    ({ verb }) => verb === "impersonate",
  );
  assert.deepEqual(extra?.["a.b/c"], ["v,w"]);
  for (const key of ["constructor", "__proto__", "tostring"]) {
    const user = ask({ "impersonate-user": "u", [`impersonate-extra-${key}`]: "v" });
    assert.deepEqual(Object.entries(user.extra ?? {}), [[key, ["v"]]]);
  }
});

test("constrained impersonation requires keys of extra with a domain", () => {
  const limited = ({ verb }: Attributes): boolean => verb !== "impersonate";
  const refusal = (key: string): string => {
    try {
      ask({ "impersonate-user": "u", [`impersonate-extra-${key}`]: "v" }, {}, limited);
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.equal(refusal("example.com%2fkey"), "");
  assert.match(refusal("key"), /must be a domain-prefixed path/);
  assert.match(
    refusal("example.com%2fKey%41"),
    /non-lowercase key in extra is not allowed: "example.com\/key/i,
  );
  assert.match(refusal("exa_mple%2fkey"), /a lowercase RFC 1123 subdomain/);
  assert.match(refusal("example.com%2fa%20b"), /Invalid path/);
});

test("a name that is not a service account's is a user", () => {
  const users: Attributes[] = [];
  const user = ask({ "impersonate-user": "system:serviceaccount:NS:n" }, {}, (attributes) => {
    users.push(attributes);
    return attributes.verb === "impersonate";
  });
  assert.deepEqual(user.groups, ["system:authenticated"]);
  assert.equal(users.at(-1)?.resource, "users");
});

test("the right to all groups is checked first for four groups", () => {
  const groups = ["a", "b", "c", "d"];
  const user = ask(
    { "impersonate-user": "u", "impersonate-group": "a" },
    { "impersonate-group": groups },
    ({ resource, name, verb }) => verb !== "impersonate" && (resource !== "groups" || name === "*"),
  );
  assert.deepEqual(user.groups, [...groups, "system:authenticated"]);
});
