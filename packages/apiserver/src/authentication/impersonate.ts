import { StatusError } from "@dray/api";
import type { UserInfo } from "@dray/client";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import { denialText, resourceAttributes } from "../authorization/attributes.ts";
import { serverError } from "../response.ts";

const userHeader = "impersonate-user";
const groupHeader = "impersonate-group";
const uidHeader = "impersonate-uid";
const extraHeader = "impersonate-extra-";

/**
 * The user that a request wants to act as (headers Impersonate-User, -Group, -Uid, -Extra-*), or the one who sent
 * it. Throws 403 where the sender may not impersonate that user, group or extra value.
 */
export function impersonate(
  sender: UserInfo,
  headers: Readonly<Record<string, string>>,
  authorize: (attributes: Attributes) => Decision,
): UserInfo {
  const name = headers[userHeader] ?? "";
  const groups = split(headers[groupHeader]);
  const uid = headers[uidHeader] ?? "";
  const extra = new Map<string, string[]>();
  for (const [header, value] of Object.entries(headers)) {
    if (!header.startsWith(extraHeader)) continue;
    extra.set(decodeKey(header.slice(extraHeader.length)), split(value));
  }
  if (name === "" && groups.length === 0 && uid === "" && extra.size === 0) return sender;
  if (name === "") {
    throw serverError(
      "requested impersonation of groups, uid or extra without a user: Impersonate-User is missing",
    );
  }
  const check = (
    attributes: Partial<Attributes> & { group: string; resource: string; name: string },
  ): void => {
    const question = resourceAttributes({ user: sender, verb: "impersonate", ...attributes });
    const decision = authorize(question);
    if (decision.allowed) return;
    const qualified = question.group === "" ? question.resource : `${question.resource}.${question.group}`;
    throw StatusError.of(
      "Forbidden",
      `${qualified} ${JSON.stringify(question.name)} is forbidden: ${denialText(question, decision.reason)}`,
      {
        name: question.name,
        ...(question.group === "" ? {} : { group: question.group }),
        kind: question.resource,
      },
    );
  };
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  if (account) {
    check({
      group: "",
      version: "v1",
      resource: "serviceaccounts",
      namespace: account[1]!,
      name: account[2]!,
    });
  } else {
    check({ group: "", version: "v1", resource: "users", name });
  }
  for (const group of groups) check({ group: "", version: "v1", resource: "groups", name: group });
  if (uid !== "") check({ group: "authentication.k8s.io", version: "v1", resource: "uids", name: uid });
  for (const [key, values] of extra) {
    for (const value of values) {
      check({
        group: "authentication.k8s.io",
        version: "v1",
        resource: "userextras",
        subresource: key,
        name: value,
      });
    }
  }
  return {
    name,
    ...(uid === "" ? {} : { uid }),
    groups: allGroups(name, groups, account?.[1]),
    extra: Object.fromEntries(extra),
  };
}

/** A service account without explicit groups gets its own; everybody but system:anonymous is authenticated. */
function allGroups(name: string, groups: readonly string[], namespace: string | undefined): string[] {
  const all = [...groups];
  if (namespace !== undefined && groups.length === 0) {
    all.push("system:serviceaccounts", `system:serviceaccounts:${namespace}`);
  }
  const own = name === "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  const special = all.includes("system:authenticated") || all.includes("system:unauthenticated");
  if (!special) all.push(own);
  return all;
}

/** Repeated headers arrive joined by a comma. */
function split(value: string | undefined): string[] {
  return value === undefined ? [] : value.split(",").map((item) => item.trim());
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key).toLowerCase();
  } catch {
    return key;
  }
}
