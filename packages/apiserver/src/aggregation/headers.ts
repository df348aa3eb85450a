import type { ApiRequest, UserInfo } from "@dray/client";
import { bytesOf, passedHeaders, type Values, withoutConnection } from "../proxy/headers.ts";

/** Names that carry who the user is. Upstream: staging/src/k8s.io/client-go/transport, SetAuthProxyHeaders */
const identity = /^x-remote-(user|uid|group|extra-.*)$/;

/** Who the user is, as a back end reads it from a front proxy. */
export function identityHeaders({ name, uid, groups, extra = {} }: UserInfo): Values {
  const headers: Values = { "x-remote-user": bytesOf(name) };
  if (uid) headers["x-remote-uid"] = bytesOf(uid);
  if (groups.length > 0) headers["x-remote-group"] = groups.map(bytesOf);
  for (const [key, values] of Object.entries(extra))
    headers[`x-remote-extra-${escapedKey(key)}`] = values.map(bytesOf);
  return headers;
}

/** Drops what a client says about who it is. */
export function withoutIdentity(headers: Readonly<Values>): Values {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !identity.test(name)));
}

/** The headers with which a request goes on to a back end, in the name of this user. */
export function forwardedHeaders(request: ApiRequest, user: UserInfo): Values {
  return { ...withoutIdentity(passedHeaders(request)), ...identityHeaders(user) };
}

/** Of an answer, what is about the answer itself. Its length may change on the way. */
export function answerHeaders(headers: NodeJS.Dict<string[]>): Record<string, string[]> {
  return withoutConnection(headers, ["content-length"]);
}

/** A key as the name of a header: what may not be in one is escaped, byte by byte. */
function escapedKey(key: string): string {
  return Buffer.from(key, "utf8")
    .toString("latin1")
    .replace(
      /[^!#$&'*+\-.^_`|~0-9A-Za-z]/g,
      (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
    );
}
