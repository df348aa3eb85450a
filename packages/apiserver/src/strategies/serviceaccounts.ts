import type { KubeObject } from "@dray/api";
import type { ServiceAccount } from "@dray/api/core/v1";
import type { Strategy } from "../kinds/strategy.ts";

/** Of the secrets that an account may use only the names are kept. */
function withNamesOnly(object: KubeObject): void {
  const account = object as ServiceAccount;
  if (account.secrets)
    account.secrets = account.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}

export const serviceaccounts: Strategy = {
  prepareForCreate: withNamesOnly,
  prepareForUpdate: withNamesOnly,
};
