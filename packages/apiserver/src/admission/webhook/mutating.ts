import type { MutatingWebhookConfiguration } from "@dray/api/admissionregistration/v1";
import type { AdmissionPlugin } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";
import { Reinvocations } from "../reinvocations.ts";
import { ask } from "./ask.ts";
import { callOf, hooksOf, isExempt } from "./hooks.ts";
import { applyPatch } from "./patch.ts";

/**
 * Applies the patches of mutating webhooks (admissionregistration.k8s.io MutatingWebhookConfiguration).
 */
export function mutatingAdmissionWebhook(context: AdmissionContext): AdmissionPlugin {
  const cache = context.storage.cache("mutatingwebhookconfigurations");
  const plugin: AdmissionPlugin = {
    asksOutside: () => cache.size > 0,
    async mutate(request, rounds) {
      if (cache.size === 0 || isExempt(request)) return;
      const state = rounds.state(plugin, () => new Reinvocations());
      state.begin(request, rounds);
      const hooks = hooksOf<MutatingWebhookConfiguration>(context, "mutatingwebhookconfigurations");
      for (const hook of [...hooks]) {
        const call = callOf(hook, request, context);
        // The second round skips webhooks that are not to be called again.
        if (call === undefined || (rounds.second && !state.isWanted(hook.id))) continue;
        await ask(call, request, context, async (patch) => {
          const { name } = hook.webhook;
          const source = { version: call.version, webhook: name };
          if (!(await applyPatch(patch, request, source, context.reader))) return;
          state.changed();
          rounds.wantsSecond = true;
        });
        if (hook.webhook.reinvocationPolicy === "IfNeeded") state.invoked(hook.id);
      }
      state.end(request);
    },
  };
  return plugin;
}
