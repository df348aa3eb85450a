import { ServiceAccount } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import type { Strategy } from "../../strategy.ts";

/** Keeps only the names of the secrets of an account. */
function withNamesOnly(account: ServiceAccount): void {
  if (account.secrets)
    account.secrets = account.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}

const serviceAccountStrategy: Strategy<ServiceAccount> = {
  prepareForCreate: withNamesOnly,
  prepareForUpdate: withNamesOnly,
};

export const serviceAccount = defineServedKind(ServiceAccount, {
  facts: {
    answersDeleted: true,
    subresources: {
      token: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest", verbs: ["create"] },
    },
  },
  strategy: serviceAccountStrategy,
});
