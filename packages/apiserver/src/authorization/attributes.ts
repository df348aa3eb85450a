import type { UserInfo } from "@dray/client";

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
  const quoted = JSON.stringify(user.name);
  if (!attributes.isResource) {
    return `User ${quoted} cannot ${verb} path ${JSON.stringify(path)}${reason === "" ? "" : `: ${reason}`}`;
  }
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  const why = reason === "" ? "" : `: ${reason}`;
  return `User ${quoted} cannot ${verb} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}${why}`;
}
