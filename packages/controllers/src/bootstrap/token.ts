import type { Secret } from "@dray/api/core/v1";

const bootstrapTokenType = "bootstrap.kubernetes.io/token";
const bootstrapNamespace = "kube-system";

export function isBootstrapToken({ type, metadata }: Secret): boolean {
  return type === bootstrapTokenType && metadata.namespace === bootstrapNamespace;
}

export function dataOf({ data }: Secret, key: string): string {
  return Buffer.from(data?.[key] ?? "", "base64").toString();
}

/** Milliseconds since the epoch; undefined if the token never expires. A malformed time has expired. */
export function expiryOf(secret: Secret): number | undefined {
  const text = dataOf(secret, "expiration");
  if (text === "") return undefined;
  const time = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? 0 : time;
}
