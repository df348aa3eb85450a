import type { ApiRequest, UserInfo } from "@dray/client";

/** Names that carry who the user is. Upstream: staging/src/k8s.io/client-go/transport, SetAuthProxyHeaders */
const identity = /^x-remote-(user|uid|group|extra-.*)$/;
/**
 * Headers that are about the client's own connection (RFC 9110, 7.6.1), or that this server has taken into account
 * already.
 */
const ofThisHop =
  /^(connection|keep-alive|proxy-connection|transfer-encoding|te|trailer|upgrade|host|content-length|expect|authorization|impersonate-.*)$/;

type Headers = Record<string, string | string[]>;

/** Who the user is, as a back end reads it from a front proxy. */
export function identityHeaders({ name, uid, groups, extra = {} }: UserInfo): Headers {
  const headers: Headers = { "x-remote-user": latin(name) };
  if (uid) headers["x-remote-uid"] = latin(uid);
  if (groups.length > 0) headers["x-remote-group"] = groups.map(latin);
  for (const [key, values] of Object.entries(extra))
    headers[`x-remote-extra-${escapedKey(key)}`] = values.map(latin);
  return headers;
}

/** Drops what a client says about who it is. */
export function withoutIdentity(headers: Readonly<Headers>): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !identity.test(name)));
}

/** The headers with which a request goes on to a back end, in the name of this user. */
export function forwardedHeaders({ headers, repeated = {} }: ApiRequest, user: UserInfo): Headers {
  const kept: Headers = {};
  for (const [name, value] of Object.entries(headers))
    if (!ofThisHop.test(name)) kept[name] = repeated[name]?.map(latin) ?? latin(value);
  return { ...withoutIdentity(kept), ...identityHeaders(user) };
}

/** Of an answer, what is about the answer itself. */
export function answerHeaders(
  headers: Readonly<Record<string, readonly string[] | undefined>>,
): Record<string, readonly string[]> {
  const kept: Record<string, readonly string[]> = {};
  for (const [name, values] of Object.entries(headers))
    if (values !== undefined && !ofThisHop.test(name)) kept[name] = values;
  return kept;
}

/** Node sends headers as Latin-1; Kubernetes reads them as UTF-8. */
function latin(value: string): string {
  return /[^\0-\x7f]/.test(value) ? Buffer.from(value, "utf8").toString("latin1") : value;
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
