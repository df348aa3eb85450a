import type { ApiRequest, UserInfo } from "@dray/client";
import { bytesOf, passedHeaders, type Values, withoutConnection } from "../proxy/headers.ts";

/** Headers that name the user. Upstream: staging/src/k8s.io/client-go/transport, SetAuthProxyHeaders */
const identity = /^x-remote-(user|uid|group|extra-.*)$/;

/** Returns the headers in which a front proxy names the user to a back end. */
export function identityHeaders({ name, uid, groups, extra = {} }: UserInfo): Values {
  const headers: Values = { "x-remote-user": bytesOf(name) };
  if (uid) headers["x-remote-uid"] = bytesOf(uid);
  if (groups.length > 0) headers["x-remote-group"] = groups.map(bytesOf);
  for (const [key, values] of Object.entries(extra))
    headers[`x-remote-extra-${escapedKey(key)}`] = values.map(bytesOf);
  return headers;
}

/** Returns the headers without those with which a client claims an identity. */
export function withoutIdentity(headers: Readonly<Values>): Values {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !identity.test(name)));
}

/** Returns the headers of a request that is passed on to a back end in the name of this user. */
export function forwardedHeaders(request: ApiRequest, user: UserInfo): Values {
  return { ...withoutIdentity(passedHeaders(request)), ...identityHeaders(user) };
}

/**
 * Returns the headers of a response that are passed on. The content length is dropped: it may change on the
 * way.
 */
export function passedResponseHeaders(headers: NodeJS.Dict<string[]>): Record<string, string[]> {
  return withoutConnection(headers, ["content-length"]);
}

/** Returns a key as part of a header name: bytes that are not allowed there are percent-encoded. */
function escapedKey(key: string): string {
  return Buffer.from(key, "utf8")
    .toString("latin1")
    .replace(
      /[^!#$&'*+\-.^_`|~0-9A-Za-z]/g,
      (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
    );
}
