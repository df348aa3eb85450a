import {
  apiVersionOf,
  invalid,
  type KubeObject,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
  StatusError,
} from "@dray/api";
import type { SelfSubjectReview, TokenReview } from "@dray/api/authentication/v1";
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  LocalSubjectAccessReview,
  ResourceAttributes,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from "@dray/api/authorization/v1";
import { Binding } from "@dray/api/core/v1";
import type { PolicyRule } from "@dray/api/rbac/v1";
import type { ApiResponse, UserInfo } from "@dray/client";
import { type Attributes, resourceAttributes } from "../authorization/attributes.ts";
import { nodeNameOf } from "../authorization/node.ts";
import { accepted } from "../encoding/accepted.ts";
import { objectResponse, resourceForms } from "../encoding/representation.ts";
import { writeOptions } from "../request/options.ts";
import { ensureNamespace } from "../write/metadata.ts";
import { bindPod } from "./binding.ts";
import { readObject } from "./body.ts";
import { type Context, representation } from "./context.ts";
import { writeOf } from "./write.ts";

/** Handles POST on a resource that is not stored: the body is a review, the result is in its status. */
export async function createOnly(context: Context): Promise<ApiResponse> {
  const { info, served } = context;
  if (served.resource === "bindings") return bindByBody(context);
  const encoding = accepted(context, resourceForms);
  const options = writeOptions(info.query, "CreateOptions", context.request.headers["user-agent"]);
  const review = await readObject(context, served, options.fieldValidation);
  checkReview(context, review, options.fieldManager);
  await context.registry.admit(writeOf(context, options), { operation: "CREATE", object: review });
  const object = {
    kind: served.kind,
    apiVersion: apiVersionOf(served),
    ...shown(context, review),
    status: answer(context, review),
  };
  return objectResponse(201, object, representation(context, encoding));
}

/** Returns the review as shown in the response; for reviews of the requesting user without its input. */
function shown({ served, registry }: Context, review: KubeObject): object {
  switch (served.kind) {
    case "SelfSubjectRulesReview":
      return { metadata: {}, spec: {} };
    case "SelfSubjectReview":
      return { metadata: { creationTimestamp: registry.now() } };
    default: {
      const { kind: _kind, apiVersion: _version, ...rest } = review;
      return rest;
    }
  }
}

/** The error of an invalid review does not contain its kind, as upstream. */
function checkReview(
  { served, registry, info, provenance }: Context,
  review: KubeObject,
  manager: string,
): void {
  if (served.kind === "SelfSubjectRulesReview" || served.kind === "SelfSubjectReview") return;
  const {
    uid: _uid,
    creationTimestamp: _created,
    deletionTimestamp: _deleted,
    ...metadata
  } = review.metadata ?? {};
  review.metadata = metadata as KubeObject["metadata"];
  ensureNamespace(served, info.namespace, review);
  registry.managers.created(served, review, {
    manager,
    subresource: "",
    now: registry.now(),
    provenance,
  });
  if (served.group !== "authorization.k8s.io") return;
  const errors = registry.checks.create(served, review, {
    requestGroup: served.group,
    provenance,
  });
  if (errors.length > 0) throw invalid({ group: served.group, kind: "" }, "", errors);
}

/** The legacy path for a binding: the pod's name is in the body. */
async function bindByBody(context: Context): Promise<ApiResponse> {
  const options = writeOptions(context.info.query, "CreateOptions", context.request.headers["user-agent"]);
  const binding = await readObject(context, Binding, options.fieldValidation);
  const { name } = binding.metadata;
  if (!name) throw StatusError.of("BadRequest", "Name parameter required.");
  // Pods are served wherever Bindings are.
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
      return tokenReview(context, review as TokenReview);
    case "SelfSubjectReview":
      return selfReview(context.user) as object;
    case "SelfSubjectAccessReview":
      return accessReview(context, review as SelfSubjectAccessReview, context.user);
    case "SubjectAccessReview":
    case "LocalSubjectAccessReview":
      return subjectReview(context, review as SubjectAccessReview);
    case "SelfSubjectRulesReview":
      return rulesReview(context, review as SelfSubjectRulesReview);
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

function accessReview(context: Context, review: SelfSubjectAccessReview, user: UserInfo): object {
  const { resourceAttributes: resource, nonResourceAttributes: path } = review.spec;
  const fields = resource?.fieldSelector && fieldsOf(resource.fieldSelector);
  const labels = resource?.labelSelector && labelsOf(resource.labelSelector);
  const attributes: Attributes = resource
    ? attributesOf(user, resource, fields?.text ?? "")
    : {
        ...resourceAttributes({ user, verb: path?.verb ?? "", group: "", resource: "" }),
        isResource: false,
        path: path?.path ?? "",
      };
  const { allowed, reason } = context.authorize(attributes);
  const ignored = [ignoredText("fieldSelector", fields), ignoredText("labelSelector", labels)].filter(
    (text) => text !== undefined,
  );
  return {
    allowed,
    ...(reason === "" ? {} : { reason }),
    ...(ignored.length === 0 ? {} : { evaluationError: ignored.join("; ") }),
  };
}

function attributesOf(user: UserInfo, resource: ResourceAttributes, fieldSelector: string): Attributes {
  return resourceAttributes({
    user,
    verb: resource.verb ?? "",
    group: resource.group ?? "",
    version: resource.version ?? "",
    resource: resource.resource ?? "",
    subresource: resource.subresource ?? "",
    namespace: resource.namespace ?? "",
    name: resource.name ?? "",
    fieldSelector,
  });
}

/**
 * The supported requirements of a selector: dropping one only widens the question, so that the authorizer
 * denies more often (KEP-4601).
 */
interface ParsedSelector {
  readonly text: string;
  /** Supported requirements, and whether there were others. */
  readonly count: number;
  readonly failed: boolean;
}

function fieldsOf({ rawSelector, requirements = [] }: FieldSelectorAttributes): ParsedSelector {
  if (requirements.length === 0) {
    return parseSelector(() => parseFieldSelector(rawSelector ?? ""));
  }
  const terms = requirements.flatMap(({ key, operator, values }) => {
    const [value, ...others] = values ?? [];
    if ((operator !== "In" && operator !== "NotIn") || value === undefined || others.length > 0) return [];
    return `${key}${operator === "In" ? "=" : "!="}${value.replace(/[\\,=]/g, (character) => `\\${character}`)}`;
  });
  return { text: terms.join(","), count: terms.length, failed: terms.length < requirements.length };
}

const labelOperators = ["In", "NotIn", "Exists", "DoesNotExist"];

function labelsOf({ rawSelector, requirements = [] }: LabelSelectorAttributes): ParsedSelector {
  if (requirements.length === 0) return parseSelector(() => parseLabelSelector(rawSelector ?? ""));
  const count = requirements.filter(({ operator }) => labelOperators.includes(operator)).length;
  return { text: "", count, failed: count < requirements.length };
}

function parseSelector(
  parse: () => { toString(): string; requirements: readonly unknown[] },
): ParsedSelector {
  try {
    const selector = parse();
    return { text: selector.toString(), count: selector.requirements.length, failed: false };
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    return { text: "", count: 0, failed: true };
  }
}

function ignoredText(name: string, selector: ParsedSelector | undefined): string | undefined {
  if (!selector?.failed) return undefined;
  const extent = selector.count > 0 ? "partially ignored" : "ignored";
  return `spec.resourceAttributes.${name} ${extent} due to parse error`;
}

function subjectReview(context: Context, review: SubjectAccessReview | LocalSubjectAccessReview): object {
  const { spec } = review;
  const user: UserInfo = {
    name: spec.user ?? "",
    groups: spec.groups ?? [],
    ...(spec.uid ? { uid: spec.uid } : {}),
    ...(spec.extra ? { extra: spec.extra } : {}),
  };
  return accessReview(context, review as SelfSubjectAccessReview, user);
}

const allRules: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

function rulesReview(context: Context, review: SelfSubjectRulesReview): object {
  const namespace = review.spec?.namespace;
  if (!namespace) throw StatusError.of("BadRequest", "no namespace on request");
  const rules = [
    ...(context.user.groups.includes("system:masters") ? allRules : []),
    ...context.rbac.rulesFor(context.user, namespace),
  ];
  const isNode = nodeNameOf(context.user) !== undefined;
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
    incomplete: isNode,
    ...(isNode ? { evaluationError: "node authorizer does not support user rule resolution" } : {}),
  };
}
