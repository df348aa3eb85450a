import { ValidatingWebhookConfiguration } from "../../../generated/admissionregistration/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultValidatingWebhooks } from "../defaults.ts";
import { webhookConfigurationValidation } from "../webhooks.ts";

export const validatingWebhookConfiguration = defineKind(ValidatingWebhookConfiguration, {
  defaults: defaultValidatingWebhooks,
  validation: webhookConfigurationValidation,
});
