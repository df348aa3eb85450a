import { MutatingWebhookConfiguration } from "../../../generated/admissionregistration/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultMutatingWebhooks } from "../defaults.ts";
import { webhookConfigurationValidation } from "../webhooks.ts";

export const mutatingWebhookConfiguration = defineKind(MutatingWebhookConfiguration, {
  defaults: defaultMutatingWebhooks,
  validation: webhookConfigurationValidation,
});
