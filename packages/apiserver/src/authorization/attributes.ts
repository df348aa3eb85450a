import { quoted, StatusError } from "@dray/api";
import type { UserInfo } from "@dray/client";
import { genericError, qualified } from "../errors/status.ts";
import type { RequestInfo } from "../request/info.ts";

/** What somebody wants to do: the question that authorizers answer. */
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
  /** For what is no resource. */
  readonly path: string;
  readonly fieldSelector?: string;
}

/** The question whether a user may send a request. */
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
    // The old way to watch does not keep to selectors everywhere: they grant nothing there.
    fieldSelector: info.legacyWatch ? "" : (query.get("fieldSelector") ?? ""),
  };
}

export interface Decision {
  readonly allowed: boolean;
  /** Why; may be empty. */
  readonly reason: string;
}

/** Says yes, or no with a reason; undefined is "no opinion". */
export type Authorizer = (attributes: Attributes) => Decision | undefined;

/** Fields of a question about a resource that are seldom set. */
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

/** The words of a 403: who cannot do what to which resource where. */
export function denialText(attributes: Attributes, reason: string): string {
  const { user, verb, resource, subresource, group, namespace, path } = attributes;
  const who = quoted(user.name);
  if (!attributes.isResource) {
    return `User ${who} cannot ${verb} path ${quoted(path)}${reason === "" ? "" : `: ${reason}`}`;
  }
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${quoted(namespace)}`;
  const why = reason === "" ? "" : `: ${reason}`;
  return `User ${who} cannot ${verb} resource ${quoted(what)} in API group ${quoted(group)} ${where}${why}`;
}

/** 403 for a question that was answered with no. */
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
