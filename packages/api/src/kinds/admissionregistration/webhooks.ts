import type { ValidationContext } from "../../checks/context.ts";
import { FieldErrors, sameValue } from "../../checks/field.ts";
import { checkMetadata } from "../../checks/metadata.ts";
import { checkLabelSelector } from "../../checks/nodeselector.ts";
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from "../../generated/admissionregistration/v1.ts";
import { dns1035Label, dnsSubdomain } from "../../values/names.ts";
import { checkMatchConditions, checkRule, matchPolicies } from "./matching.ts";
import { failurePolicies, reinvocationPolicies } from "./policy-common.ts";
import { checkService, checkUrl } from "./webhook-client.ts";

type Webhook = ValidatingWebhook | MutatingWebhook;

type Configuration = ValidatingWebhookConfiguration | MutatingWebhookConfiguration;

/** Invalid values that an update may keep because the stored object has them, too. */
interface Allowed {
  readonly sideEffects: boolean;
  readonly unknownReviews: boolean;
  readonly sameNames: boolean;
  readonly labelValues: boolean;
  readonly conditions: boolean;
}

const noSideEffects = ["None", "NoneOnDryRun"];
const sideEffects = ["None", "NoneOnDryRun", "Some", "Unknown"];

/** Supported versions of AdmissionReview. */
const reviewVersions = ["v1", "v1beta1"];

function allowedBy(
  webhooks: readonly Webhook[],
  old: readonly Webhook[] | undefined,
  context: ValidationContext,
): Allowed {
  return {
    sideEffects: old?.some((webhook) => !noSideEffects.includes(webhook.sideEffects ?? "")) ?? false,
    unknownReviews:
      old?.some(({ admissionReviewVersions }) => {
        const versions = admissionReviewVersions ?? [];
        return versions.length > 0 && !versions.some((version) => reviewVersions.includes(version));
      }) ?? false,
    sameNames: old !== undefined && new Set(old.map(({ name }) => name)).size < old.length,
    labelValues: old?.some((webhook) => hasWrongSelector(webhook, context)) ?? false,
    conditions:
      old !== undefined &&
      old.length === webhooks.length &&
      old.every((webhook, i) => sameValue(webhook.matchConditions, webhooks[i]!.matchConditions)),
  };
}

function hasWrongSelector(
  { namespaceSelector, objectSelector }: Webhook,
  { features }: ValidationContext,
): boolean {
  const errors = new FieldErrors({ release: features.version });
  for (const selector of [namespaceSelector, objectSelector]) {
    if (selector) checkLabelSelector(errors, selector);
  }
  return errors.list.length > 0;
}

function checkConfiguration(
  errors: FieldErrors,
  configuration: Configuration,
  old: Configuration | undefined,
  context: ValidationContext,
): void {
  checkMetadata(errors.at("metadata"), configuration.metadata, dnsSubdomain, false);
  const webhooks: readonly Webhook[] = configuration.webhooks ?? [];
  const allowed = allowedBy(webhooks, old && (old.webhooks ?? []), context);
  const names = new Set<string>();
  webhooks.forEach((webhook, i) => {
    const here = errors.at("webhooks").index(i);
    checkWebhook(here, webhook, allowed, context);
    checkReviews(here.at("admissionReviewVersions"), webhook.admissionReviewVersions ?? [], allowed);
    if (allowed.sameNames || !webhook.name) return;
    if (names.has(webhook.name)) here.at("name").duplicate(webhook.name);
    names.add(webhook.name);
  });
}

function checkWebhook(
  errors: FieldErrors,
  webhook: Webhook,
  allowed: Allowed,
  context: ValidationContext,
): void {
  checkQualifiedName(errors.at("name"), webhook.name ?? "");
  (webhook.rules ?? []).forEach((rule, i) => {
    checkRule(errors.at("rules").index(i), rule);
  });
  const known = (field: string, value: string | undefined, values: readonly string[]): void => {
    if (value !== undefined && !values.includes(value)) errors.at(field).notSupported(value, values);
  };
  known("failurePolicy", webhook.failurePolicy, failurePolicies);
  known("matchPolicy", webhook.matchPolicy, matchPolicies);
  const effects = allowed.sideEffects ? sideEffects : noSideEffects;
  if (!webhook.sideEffects) errors.at("sideEffects").required(`must specify one of ${effects.join(", ")}`);
  else known("sideEffects", webhook.sideEffects, effects);
  const { timeoutSeconds: timeout } = webhook;
  if (timeout !== undefined && (timeout > 30 || timeout < 1)) {
    const detail = "the timeout value must be between 1 and 30 seconds";
    errors.at("timeoutSeconds").invalid(timeout, detail);
  }
  for (const name of ["namespaceSelector", "objectSelector"] as const) {
    const selector = webhook[name];
    if (selector) checkLabelSelector(errors.at(name), selector, allowed.labelValues);
  }
  if ("reinvocationPolicy" in webhook)
    known("reinvocationPolicy", webhook.reinvocationPolicy, reinvocationPolicies);
  const { url, service } = webhook.clientConfig ?? {};
  if ((url === undefined) === (service === undefined))
    errors.at("clientConfig").required("exactly one of url or service is required");
  else if (url !== undefined) checkUrl(errors.at("clientConfig.url"), url);
  else if (service !== undefined) checkService(errors.at("clientConfig.service"), service);
  if (allowed.conditions) return;
  const expressions = context.admissionExpressions?.({ composes: false });
  checkMatchConditions(errors.at("matchConditions"), webhook.matchConditions, expressions, false);
}

/** At least three segments: `gate.webhooks.example.com`. */
function checkQualifiedName(errors: FieldErrors, name: string): void {
  if (name === "") {
    errors.required();
    return;
  }
  const problems = dnsSubdomain(name);
  if (problems.length > 0) errors.invalid(name, problems.join(","));
  else if (name.split(".").length < 3)
    errors.invalid(name, "should be a domain with at least three segments separated by dots");
}

function checkReviews(errors: FieldErrors, versions: readonly string[], allowed: Allowed): void {
  if (versions.length === 0) {
    errors.required(`must specify one of ${reviewVersions.join(", ")}`);
    return;
  }
  const seen = new Set<string>();
  versions.forEach((version, i) => {
    if (seen.has(version)) errors.index(i).invalid(version, "duplicate version");
    else errors.index(i).check(dns1035Label, version);
    seen.add(version);
  });
  if (allowed.unknownReviews || versions.some((version) => reviewVersions.includes(version))) return;
  errors.invalid(versions, `must include at least one of ${reviewVersions.join(", ")}`);
}

/** ValidatingWebhookConfiguration and MutatingWebhookConfiguration. */
export const webhookConfigurationValidation = {
  create: (errors: FieldErrors, configuration: Configuration, context: ValidationContext): void =>
    checkConfiguration(errors, configuration, undefined, context),
  update: checkConfiguration,
};
