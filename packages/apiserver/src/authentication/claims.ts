import type { NamedObject, TokenClaims } from "./token.ts";

/** Leeway for clock skew (go-jose's jwt.DefaultLeeway): a token starts earlier and expires later by this. */
export const leewaySeconds = 60;

/**
 * Returns the claims of a signed token. Other tools may sign with the same key, so the claims are checked. A
 * token without an audience is for the server itself. Returns an error message if a time is invalid.
 */
export function claimsOf(
  claims: Readonly<Record<string, unknown>>,
  issuer: string,
): TokenClaims | { readonly error: string } {
  for (const name of ["exp", "iat", "nbf"]) {
    if (claims[name] !== undefined && typeof claims[name] !== "number")
      return { error: "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate" };
  }
  const audiences = [claims["aud"] ?? []].flat().map(String);
  const own = recordOf(claims["kubernetes.io"]);
  const objects = (["pod", "secret", "node"] as const)
    .filter((kind) => own[kind] !== undefined)
    .map((kind) => [kind, named(own[kind])]);
  return {
    // The claims whose types matter are checked above, or replaced below.
    ...(claims as unknown as TokenClaims),
    aud: audiences.length === 0 ? [issuer] : audiences,
    "kubernetes.io": {
      namespace: String(own["namespace"] ?? ""),
      serviceaccount: named(own["serviceaccount"]),
      ...Object.fromEntries(objects),
    },
  };
}

/** Returns why a token is not valid at this time (seconds since the epoch). */
export function timeError({ exp, iat, nbf }: TokenClaims, now: number): string | undefined {
  if (nbf !== undefined && now + leewaySeconds < nbf) return "service account token is not valid yet";
  if (exp !== undefined && now - leewaySeconds > exp) return "service account token has expired";
  if (iat !== undefined && now + leewaySeconds < iat) return "service account token is issued in the future";
  return undefined;
}

function named(value: unknown): NamedObject {
  const { name, uid } = recordOf(value);
  return { name: String(name ?? ""), uid: String(uid ?? "") };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
