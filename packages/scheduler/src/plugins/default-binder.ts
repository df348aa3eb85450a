import { Pod } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import type { Plugin } from "../framework/framework.ts";
import type { RetryUnanswered } from "../framework/retry-unanswered.ts";

/** Binds pods with the Binding of the API. Upstream: plugins/defaultbinder/default_binder.go. */
export function defaultBinder(client: Client, retry: RetryUnanswered): Plugin {
  return {
    name: "DefaultBinder",
    async bind(_state, { metadata: { namespace, name, uid } }, node) {
      const binding = {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { namespace, name, uid },
        target: { apiVersion: "v1", kind: "Node", name: node.name },
      };
      await retry(() => client.resource(Pod).post({ namespace, name }, "binding", binding));
      return true;
    },
    mayHelp: () => false,
  };
}
