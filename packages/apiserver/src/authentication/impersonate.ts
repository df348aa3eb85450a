import { dnsLabel, dnsSubdomain, quoted, StatusError } from "@dray/api";
import type { ApiRequest, UserInfo } from "@dray/client";
import {
  type Attributes,
  type Decision,
  forbiddenError,
  resourceAttributes,
} from "../authorization/attributes.ts";
import { nodesGroup } from "../authorization/node.ts";

const userHeader = "impersonate-user";
const groupHeader = "impersonate-group";
const uidHeader = "impersonate-uid";
const extraHeader = "impersonate-extra-";
const nodePrefix = "system:node:";
const authentication = "authentication.k8s.io";
/** From this number of checks on, the right to impersonate everything is checked first. */
const minWildcardCheck = 4;

type Authorize = (attributes: Attributes) => Decision;
/** The parts of a request that contain the impersonation headers. */
type Headers = Pick<ApiRequest, "headers" | "repeated">;

/**
 * Returns the user that a request impersonates (headers Impersonate-User, -Group, -Uid, -Extra-*), or the
 * requesting user `request` if there are no such headers. Where `constrained`, the requesting user needs the
 * right to impersonate such a user and the right to do this request in their name, or the legacy right
 * `impersonate` for everything (KEP-5284). Throws 403 and 400.
 */
export function impersonate(
  request: Attributes,
  headers: Headers,
  authorize: Authorize,
  constrained: boolean,
): UserInfo {
  const impersonated = impersonatedUser(headers);
  if (impersonated === undefined) return request.user;
  const modes = [...(constrained ? constrainedModes(request.user, impersonated) : []), "legacy"];
  let first: unknown;
  for (const mode of modes) {
    try {
      return mode === "legacy"
        ? checkUser(impersonated, authorize, { sender: request.user, verb: "impersonate" })
        : checkMode(impersonated, request, mode, authorize);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      first ??= error;
    }
  }
  throw first;
}

interface ImpersonatedUser {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

function impersonatedUser({ headers, repeated = {} }: Headers): ImpersonatedUser | undefined {
  if (!Object.keys(headers).some((header) => header.startsWith("impersonate-"))) return undefined;
  const values = (header: string): readonly string[] =>
    repeated[header] ?? (headers[header] === undefined ? [] : [headers[header]]);
  // A client may send the key of a property of Object.prototype.
  const lists = new Map<string, readonly string[]>();
  for (const header of Object.keys(headers)) {
    if (!header.startsWith(extraHeader)) continue;
    const key = decodeKey(header.slice(extraHeader.length));
    lists.set(key, [...(lists.get(key) ?? []), ...values(header)]);
  }
  const extra = Object.fromEntries(lists);
  const impersonated = {
    name: headers[userHeader] ?? "",
    uid: headers[uidHeader] ?? "",
    groups: values(groupHeader),
    extra,
  };
  if (impersonated.name !== "") return impersonated;
  if (impersonated.uid === "" && impersonated.groups.length === 0 && Object.keys(extra).length === 0)
    return undefined;
  throw StatusError.of("BadRequest", `requested ${goText(impersonated)} without impersonating a user name`);
}

/** Returns the modes of constrained impersonation that fit the user, the narrowest first. */
function constrainedModes(sender: UserInfo, impersonated: ImpersonatedUser): string[] {
  const node = nodeName(impersonated.name);
  const plain =
    impersonated.uid === "" &&
    impersonated.groups.length === 0 &&
    Object.keys(impersonated.extra).length === 0;
  if (node !== undefined) {
    if (!plain) return [];
    const own = sender.extra?.[`authentication.kubernetes.io/node-name`] ?? [];
    const associated = accountOf(sender.name) !== undefined && own.length === 1 && own[0] === node;
    return [...(associated ? ["associated-node"] : []), "arbitrary-node"];
  }
  if (accountOf(impersonated.name) !== undefined) return plain ? ["serviceaccount"] : [];
  return ["user-info"];
}

/** Checks both rights: to do this request in the user's name, and to impersonate the user. */
function checkMode(
  impersonated: ImpersonatedUser,
  request: Attributes,
  mode: string,
  authorize: Authorize,
): UserInfo {
  const associated = mode === "associated-node";
  const sender = associated ? withNodeKeys(request.user) : request.user;
  checkAllowed(authorize, { ...request, user: sender, verb: `impersonate-on:${mode}:${request.verb}` });
  return checkUser(impersonated, authorize, { sender, verb: `impersonate:${mode}`, anyNode: associated });
}

/** Drops the node name: it does not count here, so the authorizer must not see it. */
function withNodeKeys(user: UserInfo): UserInfo {
  const keys = Object.keys(user.extra ?? {}).sort();
  return { ...user, extra: { "authentication.kubernetes.io/associated-node-keys": keys } };
}

interface ImpersonationRight {
  readonly sender: UserInfo;
  readonly verb: string;
  /** The right is for all nodes. */
  readonly anyNode?: boolean;
}

function checkUser(
  impersonated: ImpersonatedUser,
  authorize: Authorize,
  { sender, verb, anyNode = false }: ImpersonationRight,
): UserInfo {
  const limited = verb !== "impersonate";
  const group = limited ? authentication : "";
  const attributesOf = (resource: string, name: string, more: Partial<Attributes> = {}): Attributes =>
    resourceAttributes({ user: sender, verb, group, version: "v1", resource, name, ...more });
  let groups = impersonated.groups;
  const node = limited ? nodeName(impersonated.name) : undefined;
  const account = accountOf(impersonated.name);
  let attributes = attributesOf("users", impersonated.name);
  if (node !== undefined) {
    attributes = attributesOf("nodes", anyNode ? "*" : node);
    groups = [nodesGroup];
  } else if (account) {
    attributes = attributesOf("serviceaccounts", account.name, { namespace: account.namespace });
    if (groups.length === 0)
      groups = ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`];
  }
  checkAllowed(authorize, attributes);
  if (impersonated.uid !== "")
    checkAllowed(authorize, attributesOf("uids", impersonated.uid, { group: authentication }));
  checkGroups(impersonated.groups, limited, (name) => attributesOf("groups", name), authorize);
  checkExtra(
    impersonated.extra,
    limited,
    (key, name) => attributesOf("userextras", name, { group: authentication, subresource: key }),
    authorize,
  );
  return {
    name: impersonated.name,
    ...(impersonated.uid === "" ? {} : { uid: impersonated.uid }),
    groups: withAuthenticated(impersonated.name, groups),
    extra: impersonated.extra,
  };
}

function checkGroups(
  groups: readonly string[],
  limited: boolean,
  attributesOf: (name: string) => Attributes,
  authorize: Authorize,
): void {
  if (limited && groups.includes(""))
    throw forbiddenError(attributesOf(""), "impersonating the empty string group is not allowed");
  if (limited && groups.includes("system:masters"))
    throw forbiddenError(
      attributesOf("system:masters"),
      "impersonating the system:masters group is not allowed",
    );
  if (limited && groups.length >= minWildcardCheck && authorize(attributesOf("*")).allowed) return;
  for (const group of groups) checkAllowed(authorize, attributesOf(group));
}

function checkExtra(
  extra: ImpersonatedUser["extra"],
  limited: boolean,
  attributesOf: (key: string, name: string) => Attributes,
  authorize: Authorize,
): void {
  const entries = Object.entries(extra);
  const values = entries.flatMap(([, list]) => list);
  if (limited) {
    for (const [key, list] of entries) {
      const wrong = extraError(key, list);
      if (wrong !== undefined) throw forbiddenError(attributesOf("", ""), wrong);
    }
    if (
      (entries.length >= minWildcardCheck || values.length >= minWildcardCheck) &&
      authorize(attributesOf("*", "*")).allowed
    )
      return;
  }
  for (const [key, list] of entries)
    for (const value of list) checkAllowed(authorize, attributesOf(key, value));
}

/** Returns why constrained impersonation does not allow a key of the user's extra, or its values. */
function extraError(key: string, values: readonly string[]): string | undefined {
  if (key === "") return "impersonating the empty string key in extra is not allowed";
  const wrong = domainPrefixedPathError(key);
  if (wrong !== undefined)
    return `impersonating an invalid key in extra is not allowed: extra.key: Invalid value: ${wrong}`;
  if (key !== key.toLowerCase())
    return `impersonating a non-lowercase key in extra is not allowed: ${quoted(key)}`;
  if (values.includes("")) return "impersonating the empty string value in extra is not allowed";
  return undefined;
}

function domainPrefixedPathError(key: string): string | undefined {
  const mark = key.indexOf("/");
  if (mark <= 0 || mark === key.length - 1)
    return `${quoted(key)}: must be a domain-prefixed path (such as "acme.io/foo")`;
  const [host, path] = [key.slice(0, mark), key.slice(mark + 1)];
  const [wrong] = dnsSubdomain(host);
  if (wrong !== undefined) return `${quoted(host)}: ${wrong}`;
  if (/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path)) return undefined;
  return `${quoted(path)}: Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')`;
}

function checkAllowed(authorize: Authorize, attributes: Attributes): void {
  const decision = authorize(attributes);
  if (!decision.allowed) throw forbiddenError(attributes, decision.reason);
}

/** Every user but system:anonymous is authenticated, unless the groups say otherwise. */
function withAuthenticated(name: string, groups: readonly string[]): string[] {
  const all = [...groups];
  const own = name === "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  if (!all.includes(own) && !all.includes("system:unauthenticated")) all.push(own);
  return all;
}

function nodeName(user: string): string | undefined {
  if (!user.startsWith(nodePrefix)) return undefined;
  const name = user.slice(nodePrefix.length);
  return dnsSubdomain(name).length === 0 ? name : undefined;
}

function accountOf(user: string): { namespace: string; name: string } | undefined {
  const match = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user);
  if (match === null) return undefined;
  const [, namespace = "", name = ""] = match;
  return dnsLabel(namespace).length + dnsSubdomain(name).length === 0 ? { namespace, name } : undefined;
}

/** The name of a header is in lower case; escaped characters in it need not be. Invalid escapes are kept. */
function decodeKey(key: string): string {
  if (/%(?![0-9a-f]{2})/.test(key)) return key;
  const bytes = key.replace(/%(..)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/** Formats the structure with Go's verb `%#v`. */
function goText({ name, uid, groups, extra }: ImpersonatedUser): string {
  const list = (items: readonly string[]): string =>
    items.length === 0 ? "[]string(nil)" : `[]string{${items.map((item) => quoted(item)).join(", ")}}`;
  const entries = Object.entries(extra).sort(([left], [right]) => (left < right ? -1 : 1));
  const map =
    entries.length === 0
      ? "map[string][]string(nil)"
      : `map[string][]string{${entries.map(([key, values]) => `${quoted(key)}:${list(values)}`).join(", ")}}`;
  return `&user.DefaultInfo{Name:${quoted(name)}, UID:${quoted(uid)}, Groups:${list(groups)}, Extra:${map}}`;
}
