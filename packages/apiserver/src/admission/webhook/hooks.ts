import { StatusError } from "@dray/api";
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from "@dray/api/admissionregistration/v1";
import { forbidden } from "../../errors/status.ts";
import { internalError } from "../../webhook/errors.ts";
import type { AdmissionRequest } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";
import { namespaceSelected, objectSelected, ruleConcerns, ruleMatches } from "../matching.ts";
import type { Expression } from "../policy/activation.ts";
import { compileConditions, conditionsMet } from "../policy/conditions.ts";
import { Expressions } from "../policy/expressions.ts";
import { objectsIn, otherVersions, requestedVersion, type VersionedResource } from "../versions.ts";

/** One webhook of a configuration. */
export interface Hook<W extends ValidatingWebhook | MutatingWebhook = ValidatingWebhook | MutatingWebhook> {
  readonly webhook: W;
  /** Unique identifier across all configurations. */
  readonly id: string;
}

/** A webhook to call, and the version of the object in the call. */
export interface Call<W extends ValidatingWebhook | MutatingWebhook> {
  readonly hook: Hook<W>;
  readonly version: VersionedResource;
}

/** Kinds that no webhook intercepts: a webhook that denies everything could not be removed. */
const exempt = new Set([
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
  "MutatingWebhookConfiguration",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "ValidatingWebhookConfiguration",
]);

export function isExempt({ served }: AdmissionRequest): boolean {
  return served.group === "admissionregistration.k8s.io" && exempt.has(served.kind);
}

/** Yields all webhooks of the stored configurations, sorted by the name of the configuration. */
export function* hooksOf<C extends ValidatingWebhookConfiguration | MutatingWebhookConfiguration>(
  context: AdmissionContext,
  resource: "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
): Generator<Hook<NonNullable<C["webhooks"]>[number]>> {
  const cache = context.storage.cache(resource);
  for (const { object } of cache.range(cache.prefix)) {
    const configuration = object as C;
    for (const [i, webhook] of (configuration.webhooks ?? []).entries()) {
      yield { webhook, id: `${configuration.metadata.name}/${webhook.name}/${i}` };
    }
  }
}

/**
 * Returns the call for a request; undefined if the webhook does not match. Throws StatusError if this cannot
 * be determined.
 */
export function callOf<W extends ValidatingWebhook | MutatingWebhook>(
  hook: Hook<W>,
  request: AdmissionRequest,
  context: AdmissionContext,
): Call<W> | undefined {
  const { webhook } = hook;
  const inNamespace = readable(() => namespaceSelected(webhook.namespaceSelector, request, context.storage));
  if (inNamespace === false) return undefined;
  if (!readable(() => objectSelected(webhook.objectSelector, request))) return undefined;
  const version = versionOf(webhook, request, context);
  if (version === undefined) return undefined;
  if (inNamespace !== true) throw inNamespace;
  const met = conditionsMet(
    conditionsOf(webhook),
    { request, objects: objectsIn(request, version), matched: version, authorize: context.authorize },
    webhook.failurePolicy,
  );
  if ("error" in met) throw forbidden(request.served, request.objectName, met.error);
  return met.matches ? { hook, version } : undefined;
}

/** Selectors stored before they were validated may be invalid. */
function readable<T>(select: () => T): T {
  try {
    return select();
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw internalError((error as Error).message);
  }
}

function versionOf(
  { rules = [], matchPolicy }: ValidatingWebhook | MutatingWebhook,
  request: AdmissionRequest,
  context: AdmissionContext,
): VersionedResource | undefined {
  const asked = requestedVersion(request);
  if (rules.some((rule) => ruleMatches(rule, request, asked))) return asked;
  if (matchPolicy !== "Equivalent" || !rules.some((rule) => ruleConcerns(rule, request))) return undefined;
  const others = [...otherVersions(request, context.resources)];
  for (const rule of rules) {
    const version = others.find((other) => ruleMatches(rule, request, other));
    if (version !== undefined) return version;
  }
  return undefined;
}

const conditions = new WeakMap<ValidatingWebhook | MutatingWebhook, readonly Expression[]>();

/** Returns the match conditions of a stored webhook, compiled once. */
function conditionsOf(webhook: ValidatingWebhook | MutatingWebhook): readonly Expression[] {
  let known = conditions.get(webhook);
  if (known === undefined) {
    known = compileConditions(webhook.matchConditions, new Expressions({ composes: false }), false);
    conditions.set(webhook, known);
  }
  return known;
}
