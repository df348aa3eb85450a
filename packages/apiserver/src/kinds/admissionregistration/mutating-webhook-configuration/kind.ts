import { MutatingWebhookConfiguration } from "@dray/api/admissionregistration/v1";
import { defineServedKind } from "../../define.ts";
import { webhooks } from "../columns.ts";

export const mutatingWebhookConfiguration = defineServedKind(MutatingWebhookConfiguration, {
  facts: { generation: true, needsVersion: true },
  columns: webhooks,
});
