import { ValidatingWebhookConfiguration } from "@dray/api/admissionregistration/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { webhooks } from "../columns.ts";

export const validatingWebhookConfiguration: ServedKind<ValidatingWebhookConfiguration> = defineServedKind(
  ValidatingWebhookConfiguration,
  {
    facts: { generation: true, needsVersion: true },
    columns: webhooks,
  },
);
