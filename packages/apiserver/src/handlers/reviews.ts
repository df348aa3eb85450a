import { apiVersionOf, type FieldError, invalid, type KubeObject, StatusError } from "@dray/api";
import type { SelfSubjectReview, TokenReview } from "@dray/api/authentication/v1";
import type {
  LocalSubjectAccessReview,
  ResourceAttributes,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from "@dray/api/authorization/v1";
import type { Binding } from "@dray/api/core/v1";
import type { ApiResponse, UserInfo } from "@dray/client";
import { type Attributes, resourceAttributes } from "../authorization/attributes.ts";
import { objectForms, objectResponse } from "../representation.ts";
import { writeOptions } from "../request/options.ts";
import { genericError } from "../response.ts";
import { bindPod } from "./binding.ts";
import { readObject } from "./body.ts";
import { accepted, type Context, headersOf, tableOptions } from "./context.ts";

/** POST on a resource of which nothing is stored: the body is a question, the answer its status. */
export async function createOnly(context: Context): Promise<ApiResponse> {
  const { info, served } = context;
  if (served.resource === "bindings") return bindByBody(context);
  const wanted = accepted(context, objectForms);
  const options = writeOptions(info.query, "CreateOptions", context.request.headers["user-agent"]);
  const review = await readObject(context, served, options.fieldValidation);
  const status = answer(context, review);
  const { metadata: _metadata, ...rest } = review;
  const namespace = review.metadata?.namespace;
  const object = {
    ...rest,
    kind: served.kind,
    apiVersion: apiVersionOf(served),
    metadata: namespace ? { namespace } : {},
    status,
  } as unknown as KubeObject;
  return objectResponse(201, object, served, wanted, tableOptions(context), headersOf(context));
}

/** The old path for a binding: the pod's name is in the body. */
async function bindByBody(context: Context): Promise<ApiResponse> {
  const options = writeOptions(context.info.query, "CreateOptions", context.request.headers["user-agent"]);
  const binding = (await readObject(context, context.served, options.fieldValidation)) as unknown as Binding;
  const name = binding.metadata?.name;
  if (!name) throw genericError("BadRequest", "name must be provided");
  const pods = context.resources.get("/v1/pods")!;
  const info = {
    ...context.info,
    resource: "pods",
    subresource: "binding",
    name,
    parts: ["pods", name, "binding"],
  };
  return bindPod({ ...context, served: pods, info });
}

function answer(context: Context, review: KubeObject): object {
  switch (context.served.kind) {
    case "TokenReview":
      return tokenReview(context, review as unknown as TokenReview);
    case "SelfSubjectReview":
      return selfReview(context.user) as object;
    case "SelfSubjectAccessReview":
      return accessReview(context, review as unknown as SelfSubjectAccessReview, context.user);
    case "SubjectAccessReview":
    case "LocalSubjectAccessReview":
      return subjectReview(context, review as unknown as SubjectAccessReview);
    case "SelfSubjectRulesReview":
      return rulesReview(context, review as unknown as SelfSubjectRulesReview);
    default:
      throw new Error(`nothing answers a ${context.served.kind}`);
  }
}

function userFields(user: UserInfo): object {
  return {
    username: user.name,
    ...(user.uid ? { uid: user.uid } : {}),
    ...(user.groups.length === 0 ? {} : { groups: user.groups }),
    ...(user.extra && Object.keys(user.extra).length > 0 ? { extra: user.extra } : {}),
  };
}

function selfReview(user: UserInfo): SelfSubjectReview["status"] {
  return { userInfo: userFields(user) } as SelfSubjectReview["status"];
}

function tokenReview(context: Context, review: TokenReview): object {
  const token = review.spec?.token;
  if (!token) throw StatusError.of("BadRequest", "token is required for TokenReview in authentication");
  const audiences = review.spec.audiences?.length ? review.spec.audiences : [context.tokens.issuer];
  const found = context.authenticator.user(token, audiences);
  if ("error" in found) return { user: {}, error: found.error };
  return { authenticated: true, user: userFields(found.user), audiences: found.audiences };
}

/** A review that is not valid is refused without saying its kind, as upstream does. */
function refuse(error: FieldError): never {
  throw invalid({ group: "authorization.k8s.io", kind: "" }, "", [error]);
}

function accessReview(context: Context, review: SelfSubjectAccessReview, user: UserInfo): object {
  const { resourceAttributes: resource, nonResourceAttributes: path } = review.spec ?? {};
  if (resource && path) {
    refuse({
      type: "Invalid",
      path: "spec.nonResourceAttributes",
      value: JSON.stringify({ Path: path.path ?? "", Verb: path.verb ?? "" }),
      detail: "cannot be specified in combination with resourceAttributes",
    });
  }
  if (!resource && !path) {
    refuse({
      type: "Invalid",
      path: "spec.resourceAttributes",
      value: "null",
      detail: "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    });
  }
  const attributes: Attributes = resource
    ? attributesOf(user, resource)
    : {
        ...resourceAttributes({ user, verb: path?.verb ?? "", group: "", resource: "" }),
        isResource: false,
        path: path?.path ?? "",
      };
  const { allowed, reason } = context.authorize(attributes);
  return { allowed, ...(reason === "" ? {} : { reason }) };
}

function attributesOf(user: UserInfo, resource: ResourceAttributes): Attributes {
  const selector = resource.fieldSelector?.requirements
    ?.filter((requirement) => requirement.operator === "In" && requirement.values?.length === 1)
    .map((requirement) => `${requirement.key}=${requirement.values![0]}`)
    .join(",");
  return resourceAttributes({
    user,
    verb: resource.verb ?? "",
    group: resource.group ?? "",
    version: resource.version ?? "",
    resource: resource.resource ?? "",
    subresource: resource.subresource ?? "",
    namespace: resource.namespace ?? "",
    name: resource.name ?? "",
    fieldSelector: selector ?? resource.fieldSelector?.rawSelector ?? "",
  });
}

function subjectReview(context: Context, review: SubjectAccessReview | LocalSubjectAccessReview): object {
  const { spec } = review;
  if (!spec?.user && !spec?.groups?.length) {
    refuse({
      type: "Invalid",
      path: "spec.user",
      value: '""',
      detail: "at least one of user or group must be specified",
    });
  }
  if (context.served.kind === "LocalSubjectAccessReview") {
    const wanted = spec.resourceAttributes?.namespace ?? "";
    if (wanted !== context.info.namespace) {
      refuse({
        type: "Invalid",
        path: "spec.resourceAttributes.namespace",
        value: JSON.stringify(wanted),
        detail: "must match metadata.namespace",
      });
    }
  }
  const user: UserInfo = {
    name: spec.user ?? "",
    groups: spec.groups ?? [],
    ...(spec.uid ? { uid: spec.uid } : {}),
    ...(spec.extra ? { extra: spec.extra } : {}),
  };
  return accessReview(context, review as unknown as SelfSubjectAccessReview, user);
}

function rulesReview(context: Context, review: SelfSubjectRulesReview): object {
  const namespace = review.spec?.namespace;
  if (!namespace) throw StatusError.of("BadRequest", "no namespace on request");
  const rules = context.user.groups.includes("system:masters")
    ? [
        { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
        { verbs: ["*"], nonResourceURLs: ["*"] },
      ]
    : context.rbac.rulesFor(context.user, namespace);
  return {
    resourceRules: rules
      .filter((rule) => rule.resources?.length)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        ...(apiGroups ? { apiGroups } : {}),
        ...(resources ? { resources } : {}),
        ...(resourceNames?.length ? { resourceNames } : {}),
      })),
    nonResourceRules: rules
      .filter((rule) => rule.nonResourceURLs?.length)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  };
}
