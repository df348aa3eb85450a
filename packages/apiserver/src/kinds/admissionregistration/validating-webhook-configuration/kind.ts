import { ValidatingWebhookConfiguration } from "@dray/api/admissionregistration/v1";
import { defineServedKind } from "../../define.ts";
import { webhooks } from "../columns.ts";

export const validatingWebhookConfiguration = defineServedKind(ValidatingWebhookConfiguration, {
  facts: { generation: true, needsVersion: true },
  columns: webhooks,
});
