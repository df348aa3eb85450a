import { quoted } from "@dray/api";
import type { Secret, ServiceAccount } from "@dray/api/core/v1";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";

export const legacyIssuer = "kubernetes/serviceaccount";
export const legacyClaim = (name: string): string => `kubernetes.io/serviceaccount/${name}`;
const invalidSince = "kubernetes.io/legacy-token-invalid-since";

export interface LegacyToken {
  readonly secret: Secret;
  readonly account: ServiceAccount;
}

/**
 * Returns the secret and the account of a token in a Secret of type kubernetes.io/service-account-token, or
 * why the token is not valid (any more). It is valid as long as both of them exist.
 */
export function legacyToken(
  token: string,
  claims: Readonly<Record<string, unknown>>,
  storage: Storage,
): LegacyToken | { readonly error: string } {
  const text = (name: string): string => String(claims[legacyClaim(name)] ?? "");
  const [namespace, secretName, accountName, uid] = [
    text("namespace"),
    text("secret.name"),
    text("service-account.name"),
    text("service-account.uid"),
  ];
  for (const [value, name] of [
    [namespace, "namespace"],
    [secretName, "secretName"],
    [accountName, "serviceAccountName"],
    [uid, "serviceAccountUID"],
  ]) {
    if (value === "") return { error: `${name} claim is missing` };
  }
  if (claims["sub"] !== `system:serviceaccount:${namespace}:${accountName}`)
    return { error: "sub claim is invalid" };
  const get = (resource: string, name: string): unknown =>
    storage.cache(resource).get(objectKey(resource, namespace, name))?.object;
  const secret = get("secrets", secretName) as Secret | undefined;
  if (secret === undefined || secret.metadata.deletionTimestamp !== undefined)
    return { error: "Token has been invalidated" };
  if (Buffer.from(secret.data?.["token"] ?? "", "base64").toString() !== token)
    return { error: "Token does not match server's copy" };
  const account = get("serviceaccounts", accountName) as ServiceAccount | undefined;
  if (account === undefined) return { error: `serviceaccounts ${quoted(accountName)} not found` };
  if (account.metadata.deletionTimestamp !== undefined)
    return { error: `ServiceAccount ${namespace}/${accountName} has been deleted` };
  if (account.metadata.uid !== uid)
    return { error: `ServiceAccount UID (${account.metadata.uid}) does not match claim (${uid})` };
  if (secret.metadata.labels?.[invalidSince]) {
    return {
      error: `the token in secret ${namespace}/${secretName} for service account ${namespace}/${accountName} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '${invalidSince}' label from the secret to temporarily allow use of this token`,
    };
  }
  return { secret, account };
}
