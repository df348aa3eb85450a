import { quoted, StatusError } from "@dray/api";
import type { UserInfo } from "@dray/client";
import { genericError, qualified } from "../errors/status.ts";
import type { RequestInfo } from "../request/info.ts";

/** The action that a user requests: the input of authorizers. */
export interface Attributes {
  readonly user: UserInfo;
  readonly verb: string;
  readonly isResource: boolean;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Path of a non-resource request. */
  readonly path: string;
  readonly fieldSelector?: string;
}

/** Returns the attributes of a request of a user. */
export function requestAttributes(user: UserInfo, info: RequestInfo): Attributes {
  const { verb, isResource, group, version, resource, subresource, namespace, name, path, query } = info;
  return {
    user,
    verb,
    isResource,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
    path,
    // The legacy watch path does not apply selectors everywhere: they grant nothing there.
    fieldSelector: info.legacyWatch ? "" : (query.get("fieldSelector") ?? ""),
  };
}

export interface Decision {
  readonly allowed: boolean;
  /** May be empty. */
  readonly reason: string;
}

/** Allows, or denies with a reason; undefined is "no opinion". */
export type Authorizer = (attributes: Attributes) => Decision | undefined;

/** Fills in the fields of a resource request that are rarely set. */
export function resourceAttributes(
  attributes: Pick<Attributes, "user" | "verb" | "group" | "resource"> & Partial<Attributes>,
): Attributes {
  return {
    isResource: true,
    version: "*",
    subresource: "",
    namespace: "",
    name: "",
    path: "",
    ...attributes,
  };
}

/** Returns the message of a 403: user, verb, resource and namespace. */
export function denialText(attributes: Attributes, reason: string): string {
  const { user, verb, resource, subresource, group, namespace, path } = attributes;
  const who = quoted(user.name);
  if (!attributes.isResource) {
    return `User ${who} cannot ${verb} path ${quoted(path)}${reason === "" ? "" : `: ${reason}`}`;
  }
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${quoted(namespace)}`;
  const detail = reason === "" ? "" : `: ${reason}`;
  return `User ${who} cannot ${verb} resource ${quoted(what)} in API group ${quoted(group)} ${where}${detail}`;
}

/** Returns the 403 for a denied request. */
export function forbiddenError(attributes: Attributes, reason: string): StatusError {
  const text = denialText(attributes, reason);
  if (!attributes.isResource || attributes.resource === "")
    return genericError("Forbidden", `forbidden: ${text}`);
  const { name, group, resource } = attributes;
  const subject = name === "" ? qualified(attributes) : `${qualified(attributes)} ${quoted(name)}`;
  return StatusError.of("Forbidden", `${subject} is forbidden: ${text}`, {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    kind: resource,
  });
}
