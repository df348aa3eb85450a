import type { KubeObject } from "@dray/api";
import type { MutatingWebhookConfiguration } from "@dray/api/admissionregistration/v1";
import { deepEqual, thaw } from "../../storage/json.ts";
import type { AdmissionPlugin, AdmissionRequest } from "../admission.ts";
import type { AdmissionContext } from "../plugins.ts";
import { ask } from "./ask.ts";
import { callOf, hooksOf, isExempt } from "./hooks.ts";
import { applyPatch } from "./patch.ts";

/** Which webhooks are to be asked once more because the object has changed since. */
class Reinvocations {
  /** The object as the webhooks have left it. */
  left: KubeObject | undefined;
  /** Webhooks that were asked and want to see later changes (reinvocationPolicy IfNeeded). */
  #asked = new Set<string>();
  readonly #again = new Set<string>();

  asked(id: string): void {
    this.#asked.add(id);
  }

  changed(): void {
    for (const id of this.#asked) this.#again.add(id);
    this.#asked = new Set();
  }

  wants(id: string): boolean {
    return this.#again.has(id);
  }
}

/** Changes that programs beside the cluster want to make (admissionregistration.k8s.io MutatingWebhookConfiguration). */
export function mutatingAdmissionWebhook(context: AdmissionContext): AdmissionPlugin {
  const cache = context.storage.cache("mutatingwebhookconfigurations");
  const plugin: AdmissionPlugin = {
    name: "MutatingAdmissionWebhook",
    asksOutside: () => cache.size > 0,
    async mutate(request, rounds) {
      if (cache.size === 0 || isExempt(request)) return;
      const state = rounds.state(plugin, () => new Reinvocations());
      if (rounds.second && !deepEqual(state.left, request.object)) state.changed();
      const hooks = hooksOf<MutatingWebhookConfiguration>(context, "mutatingwebhookconfigurations");
      for (const hook of [...hooks]) {
        const call = callOf(hook, request, context);
        // Whom the first round has passed over is not asked in the second.
        if (call === undefined || (rounds.second && !state.wants(hook.id))) continue;
        await ask(call, request, context, true, (patch) => {
          const { name } = hook.webhook;
          if (!applyPatch(patch, request, call.version, name, context.registry())) return;
          state.changed();
          rounds.wantsSecond = true;
        });
        if (hook.webhook.reinvocationPolicy === "IfNeeded") state.asked(hook.id);
      }
      state.left = copyOf(request);
    },
  };
  return plugin;
}

const copyOf = ({ object }: AdmissionRequest): KubeObject | undefined =>
  object === undefined ? undefined : thaw(object);
