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
import type { Wire } from "../../objects/wire.ts";

function defaultRules(rules: readonly Wire<Rule>[] | null | undefined): void {
  for (const rule of rules ?? []) rule.scope ??= "*";
}

function defaultMatchResources(match: Wire<MatchResources> | null | undefined): void {
  if (!match) return;
  match.matchPolicy ??= "Equivalent";
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  defaultRules(match.resourceRules);
  defaultRules(match.excludeResourceRules);
}

export function defaultPolicy({
  spec,
}: Wire<ValidatingAdmissionPolicy> | Wire<MutatingAdmissionPolicy>): void {
  if (!spec) return;
  spec.failurePolicy ??= "Fail";
  defaultMatchResources(spec.matchConstraints);
}

export function defaultPolicyBinding({
  spec,
}: Wire<ValidatingAdmissionPolicyBinding> | Wire<MutatingAdmissionPolicyBinding>): void {
  defaultMatchResources(spec?.matchResources);
}

function defaultWebhook(webhook: Wire<ValidatingWebhook> | Wire<MutatingWebhook>): void {
  webhook.failurePolicy ??= "Fail";
  webhook.matchPolicy ??= "Equivalent";
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= 10;
  defaultRules(webhook.rules);
  const { service } = webhook.clientConfig ?? {};
  if (service) service.port ??= 443;
}

export function defaultValidatingWebhooks({ webhooks }: Wire<ValidatingWebhookConfiguration>): void {
  for (const webhook of webhooks ?? []) defaultWebhook(webhook);
}

export function defaultMutatingWebhooks({ webhooks }: Wire<MutatingWebhookConfiguration>): void {
  for (const webhook of webhooks ?? []) {
    defaultWebhook(webhook);
    webhook.reinvocationPolicy ??= "Never";
  }
}
