import { MutatingWebhookConfiguration } from "@dray/api/admissionregistration/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { webhooks } from "../columns.ts";

export const mutatingWebhookConfiguration: ServedKind<MutatingWebhookConfiguration> = defineServedKind(
  MutatingWebhookConfiguration,
  {
    facts: { generation: true, needsVersion: true },
    columns: webhooks,
  },
);
