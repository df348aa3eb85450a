import type { ApiRequest, UserInfo } from "@dray/client";

/**
 * Front proxies that the server trusts, and the headers in which they name the user (--requestheader-*). API
 * servers behind this one read it from the ConfigMap kube-system/extension-apiserver-authentication.
 */
export interface RequestHeader {
  /** PEM: signs the client certificates of front proxies (--requestheader-client-ca-file). */
  readonly clientAuthority: string;
  /** Allowed common names of a front proxy; any if absent or empty. */
  readonly allowedNames?: readonly string[];
  /** The first header that is set names the user; `X-Remote-User` if absent. */
  readonly usernameHeaders?: readonly string[];
  /** `X-Remote-Uid` if absent. */
  readonly uidHeaders?: readonly string[];
  /** All values of all these headers; `X-Remote-Group` if absent. */
  readonly groupHeaders?: readonly string[];
  /** The rest of the name after such a prefix is a key of `extra`; `X-Remote-Extra-` if absent. */
  readonly extraHeaderPrefixes?: readonly string[];
}

const defaults = {
  allowedNames: [],
  usernameHeaders: ["X-Remote-User"],
  uidHeaders: ["X-Remote-Uid"],
  groupHeaders: ["X-Remote-Group"],
  extraHeaderPrefixes: ["X-Remote-Extra-"],
} as const;

/** Returns all options, defaults included. */
export function completeRequestHeader(options: RequestHeader): Required<RequestHeader> {
  return { ...defaults, ...options };
}

type Headers = Pick<ApiRequest, "headers" | "repeated">;

/**
 * Returns the user that a front proxy names; undefined if it names none. Its certificate must have been
 * verified.
 *
 * Upstream: staging/src/k8s.io/apiserver/pkg/authentication/request/headerrequest/requestheader.go
 */
export function requestHeaderUser(request: Headers, options: RequestHeader): UserInfo | undefined {
  const { usernameHeaders, uidHeaders, groupHeaders, extraHeaderPrefixes } = completeRequestHeader(options);
  const name = firstValue(request, usernameHeaders);
  if (name === "") return undefined;
  const uid = firstValue(request, uidHeaders);
  const groups = groupHeaders.flatMap((header) => valuesOf(request, header));
  const extra = extraOf(request, extraHeaderPrefixes);
  return {
    name,
    groups,
    ...(uid === "" ? {} : { uid }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

function valuesOf({ headers, repeated }: Headers, header: string): readonly string[] {
  const name = header.toLowerCase();
  const first = headers[name];
  return repeated?.[name] ?? (first === undefined ? [] : [first]);
}

function firstValue({ headers }: Headers, names: readonly string[]): string {
  return names.map((name) => (headers[name.toLowerCase()] ?? "").trim()).find((value) => value !== "") ?? "";
}

function extraOf(request: Headers, prefixes: readonly string[]): Map<string, string[]> {
  const extra = new Map<string, string[]>();
  for (const prefix of prefixes.map((each) => each.toLowerCase()))
    for (const name of Object.keys(request.headers)) {
      if (!name.startsWith(prefix)) continue;
      const key = unescaped(name.slice(prefix.length));
      extra.set(key, [...(extra.get(key) ?? []), ...valuesOf(request, name)]);
    }
  return extra;
}

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
