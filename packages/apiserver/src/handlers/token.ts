import {
  apiVersionOf,
  type FieldError,
  invalid,
  type KubeObject,
  quoted,
  StatusError,
  timeText,
  type Wire,
} from "@dray/api";
import { type BoundObjectReference, TokenRequest } from "@dray/api/authentication/v1";
import type { Node, Pod, Secret, ServiceAccount } from "@dray/api/core/v1";
import type { ApiResponse } from "@dray/client";
import { checkNodeToken } from "../admission/node-token.ts";
import type { BoundTo } from "../authentication/service-account.ts";
import { accepted } from "../encoding/accepted.ts";
import { objectResponse, resourceForms } from "../encoding/representation.ts";
import { conflict, notFound } from "../errors/status.ts";
import { trackUpdate } from "../patch/index.ts";
import { writeOptions } from "../request/options.ts";
import { objectKey } from "../storage/keys.ts";
import { objectType } from "../write/managed-fields.ts";
import { ensureNamespace } from "../write/metadata.ts";
import { readObject } from "./body.ts";
import { type Context, representation } from "./context.ts";
import { writeOf } from "./write.ts";

const tokenKind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };
const defaultSeconds = 3600;
/** Minimum lifetime of a token, in seconds. */
const minSeconds = 600;

/**
 * Handles POST on `serviceaccounts/token`: returns a token of the account, optionally bound to a pod, secret
 * or node.
 */
export async function createToken(context: Context): Promise<ApiResponse> {
  const { info, served, registry, tokens, clock } = context;
  const encoding = accepted(context, resourceForms);
  const options = writeOptions(info.query, "CreateOptions", context.request.headers["user-agent"]);
  const request = await readObject(context, TokenRequest, options.fieldValidation);
  // A token is not stored, so admission does not see it; this rule is checked here.
  checkNodeToken({
    storage: registry.storage,
    user: context.user,
    namespace: info.namespace,
    account: info.name,
    request,
    authorize: context.authorize,
  });
  ensureNamespace(served, info.namespace, request);
  checkMetaName(request, info.name);
  const account = registry.need(served, info.namespace, info.name).object as ServiceAccount;
  const seconds = Number(request.spec?.expirationSeconds ?? defaultSeconds);
  const managed = withManager(request, seconds, options.fieldManager, registry.now());
  request.metadata = { ...request.metadata, name: info.name, namespace: info.namespace };
  await registry.admit(writeOf(context, options), { operation: "CREATE", object: request, kind: tokenKind });
  const spec = request.spec;
  checkSeconds(seconds);
  const audiences = spec?.audiences?.length ? spec.audiences : [tokens.issuer];
  const bound = boundTo(context, account, spec?.boundObjectRef);
  const token = tokens.issue(account, audiences, seconds, bound);
  const expires = new Date((Math.floor(clock.now() / 1000) + seconds) * 1000);
  const answer = {
    kind: "TokenRequest",
    apiVersion: apiVersionOf(tokenKind),
    metadata: {
      ...managed,
      name: account.metadata.name,
      namespace: info.namespace,
      uid: account.metadata.uid,
      creationTimestamp: registry.now(),
    },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: spec?.boundObjectRef ?? null },
    status: { token, expirationTimestamp: timeText(expires.getTime()) },
  };
  return objectResponse(201, answer, representation(context, encoding));
}

/** Adds managedFields with the metadata that the client has set: a token request is an object like others. */
function withManager(request: Wire<TokenRequest>, seconds: number, manager: string, now: string): object {
  const { name: _name, namespace: _namespace, ...metadata } = request.metadata ?? {};
  const updated = { ...request, metadata, spec: { ...request.spec, expirationSeconds: seconds } };
  const type = objectType(tokenKind);
  const part = { subresource: "token", live: undefined };
  return trackUpdate({ ...part, updated, manager, type, now }).metadata;
}

function refuse(name: string, error: FieldError): never {
  throw invalid(tokenKind, name, [error]);
}

function checkMetaName({ metadata }: Wire<TokenRequest>, name: string): void {
  if (!metadata?.name || metadata.name === name) return;
  refuse(name, {
    type: "Invalid",
    path: "metadata.name",
    value: quoted(metadata.name),
    detail: "must match the service account name if specified",
  });
}

function checkSeconds(seconds: number): void {
  const path = "spec.expirationSeconds";
  const value = String(seconds);
  if (seconds < minSeconds) {
    refuse("", { type: "Invalid", path, value, detail: "may not specify a duration less than 10 minutes" });
  }
  if (seconds > 2 ** 32) {
    refuse("", {
      type: "Invalid",
      path,
      value,
      detail: "may not specify a duration larger than 2^32 seconds",
    });
  }
}

/** Returns the object to which the token is bound. Throws 404 if it is missing, 409 if it is another one. */
function boundTo(
  context: Context,
  account: ServiceAccount,
  ref: Wire<BoundObjectReference> | null | undefined,
): BoundTo {
  if (ref === undefined || ref === null) return {};
  const { namespace } = context.info;
  const get = <T extends KubeObject>(resource: string, where: string): T => {
    const name = ref.name ?? "";
    const found = context.registry.storage.cache(resource).get(objectKey(resource, where, name));
    if (found === undefined) throw notFound({ group: "", resource }, name);
    const { uid } = found.object.metadata;
    if (ref.uid && ref.uid !== uid) {
      throw conflict(
        { group: "", resource: ref.kind ?? "" },
        name,
        `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      );
    }
    return found.object as T;
  };
  switch (`${ref.apiVersion ?? ""}/${ref.kind ?? ""}`) {
    case "v1/Pod": {
      const pod = get<Pod>("pods", namespace);
      if (pod.spec?.serviceAccountName !== account.metadata.name) {
        throw StatusError.of(
          "BadRequest",
          `cannot bind token for serviceaccount ${quoted(account.metadata.name)} to pod running with different serviceaccount name.`,
        );
      }
      const nodeName = pod.spec?.nodeName;
      if (!nodeName) return { pod };
      const node = context.registry.storage.cache("nodes").get(objectKey("nodes", "", nodeName))?.object;
      return { pod, node: { name: nodeName, uid: node?.metadata.uid ?? "" } };
    }
    case "v1/Node": {
      const node = get<Node>("nodes", "");
      return { node: { name: node.metadata.name, uid: node.metadata.uid } };
    }
    case "v1/Secret":
      return { secret: get<Secret>("secrets", namespace) };
    default: {
      const apiVersion = ref.apiVersion ?? "";
      const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
      throw StatusError.of(
        "BadRequest",
        `cannot bind token to object of type ${group}/${version}, Kind=${ref.kind ?? ""}`,
      );
    }
  }
}
