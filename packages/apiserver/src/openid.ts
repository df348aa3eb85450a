import type { ApiRequest, ApiResponse } from "@dray/client";
import type { TokenSigner } from "./authentication/token.ts";
import { checkProduced } from "./request/accept.ts";
import { bodyResponse, methodNotAllowed } from "./response.ts";

const configurationPath = "/.well-known/openid-configuration";
const keysPath = "/openid/v1/jwks";
const cacheControl = "public, max-age=3600";

/**
 * How others check service-account tokens without asking this server (OpenID Connect discovery): its issuer and its
 * public keys. `address` is where the server can be reached, `host:port`. Undefined for other paths; throws 405 and 406.
 */
export function openIdResponse(
  request: ApiRequest,
  path: string,
  signer: TokenSigner,
  issuer: string,
  address: string,
): ApiResponse | undefined {
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
        jwks_uri: `https://${address}${keysPath}`,
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
