import type { ApiRequest, ApiResponse } from "@dray/client";
import { methodNotAllowed } from "../errors/status.ts";
import { bodyResponse } from "../http/response.ts";
import { checkProduced } from "../request/accept.ts";
import type { TokenSigner } from "./token.ts";

const configurationPath = "/.well-known/openid-configuration";
const keysPath = "/openid/v1/jwks";
const cacheControl = "public, max-age=3600";

/** The issuer of tokens, and the location of its keys. */
export interface Issuer {
  readonly signer: TokenSigner;
  readonly issuer: string;
  /** `host:port` of this server, for clients that read its keys. */
  readonly address: string;
  /** URL of the keys if they are not on this server. */
  readonly jwksUri?: string | undefined;
}

/**
 * OpenID Connect discovery: the issuer and its public keys, with which others check service-account tokens
 * offline. Undefined for other paths, and if the issuer is not a URL that discovery allows; throws 405 and
 * 406.
 *
 * Upstream: pkg/serviceaccount/openidmetadata.go, NewOpenIDMetadataProvider
 */
export function openIdResponse(
  request: ApiRequest,
  path: string,
  { signer, issuer, address, jwksUri = `https://${address}${keysPath}` }: Issuer,
): ApiResponse | undefined {
  if (!isDiscoverable(issuer)) return undefined;
  const answer = (type: string, body: object): ApiResponse => {
    if (request.method !== "GET") throw methodNotAllowed();
    checkProduced(request, [type]);
    const headers = { "content-type": type, "cache-control": cacheControl };
    return bodyResponse(200, headers, () => JSON.stringify(body));
  };
  switch (path.replace(/\/+$/, "")) {
    case configurationPath:
      return answer("application/json", {
        issuer,
        jwks_uri: jwksUri,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: signer.algorithms,
      });
    case keysPath:
      return answer("application/jwk-set+json", { keys: signer.publicKeys() });
    default:
      return undefined;
  }
}

/** OpenID Connect Discovery 1.0, section 3: an https URL without query and fragment. */
function isDiscoverable(issuer: string): boolean {
  return URL.canParse(issuer) && issuer.startsWith("https:") && !/[?#]/.test(issuer);
}
