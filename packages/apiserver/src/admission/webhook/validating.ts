import type { ValidatingWebhookConfiguration } from "@dray/api/admissionregistration/v1";
import type { AdmissionPlugin } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";
import { ask } from "./ask.ts";
import { callOf, hooksOf, isExempt } from "./hooks.ts";

/**
 * Calls validating webhooks in parallel (admissionregistration.k8s.io ValidatingWebhookConfiguration).
 */
export function validatingAdmissionWebhook(context: AdmissionContext): AdmissionPlugin {
  const cache = context.storage.cache("validatingwebhookconfigurations");
  return {
    asksOutside: () => cache.size > 0,
    async validate(request) {
      if (cache.size === 0 || isExempt(request)) return;
      const hooks = hooksOf<ValidatingWebhookConfiguration>(context, "validatingwebhookconfigurations");
      const calls = [...hooks].flatMap((hook) => callOf(hook, request, context) ?? []);
      const answers = await Promise.allSettled(calls.map((call) => ask(call, request, context)));
      const refusal = answers.find((answer) => answer.status === "rejected");
      if (refusal !== undefined) throw refusal.reason;
    },
  };
}
