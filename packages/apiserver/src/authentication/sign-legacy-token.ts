import type { Secret, ServiceAccount } from "@dray/api/core/v1";
import { legacyClaim, legacyIssuer } from "./legacy-token.ts";
import { TokenSigner } from "./token.ts";

/**
 * Returns a function that makes the token of a Secret of type kubernetes.io/service-account-token. `key` is a
 * private key (PEM) whose tokens the API server accepts. Throws a TypeError if it is neither EC (P-256) nor
 * RSA.
 *
 * Upstream: pkg/serviceaccount/legacy.go, LegacyClaims.
 */
export function serviceAccountTokenSigner(key: string): (account: ServiceAccount, secret: Secret) => string {
  const signer = new TokenSigner(key);
  return ({ metadata: account }, { metadata: secret }) =>
    signer.sign({
      iss: legacyIssuer,
      [legacyClaim("namespace")]: account.namespace,
      [legacyClaim("secret.name")]: secret.name,
      [legacyClaim("service-account.name")]: account.name,
      [legacyClaim("service-account.uid")]: account.uid,
      sub: `system:serviceaccount:${account.namespace}:${account.name}`,
    });
}
