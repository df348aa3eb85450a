import type {
  MatchResources,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhook,
  MutatingWebhookConfiguration,
  Rule,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from "../../generated/admissionregistration/v1.ts";

function defaultRules(rules: readonly Rule[] | undefined): void {
  for (const rule of rules ?? []) rule.scope ??= "*";
}

function defaultMatchResources(match: MatchResources | undefined): void {
  if (match === undefined) return;
  match.matchPolicy ??= "Equivalent";
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  defaultRules(match.resourceRules);
  defaultRules(match.excludeResourceRules);
}

export function defaultPolicy({ spec }: ValidatingAdmissionPolicy | MutatingAdmissionPolicy): void {
  if (spec === undefined) return;
  spec.failurePolicy ??= "Fail";
  defaultMatchResources(spec.matchConstraints);
}

export function defaultPolicyBinding({
  spec,
}: ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding): void {
  defaultMatchResources(spec?.matchResources);
}

function defaultWebhook(webhook: ValidatingWebhook | MutatingWebhook): void {
  webhook.failurePolicy ??= "Fail";
  webhook.matchPolicy ??= "Equivalent";
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= 10;
  defaultRules(webhook.rules);
  const { service } = webhook.clientConfig ?? {};
  if (service) service.port ??= 443;
}

export function defaultValidatingWebhooks({ webhooks }: ValidatingWebhookConfiguration): void {
  for (const webhook of webhooks ?? []) defaultWebhook(webhook);
}

export function defaultMutatingWebhooks({ webhooks }: MutatingWebhookConfiguration): void {
  for (const webhook of webhooks ?? []) {
    defaultWebhook(webhook);
    webhook.reinvocationPolicy ??= "Never";
  }
}
