import { createHash } from "node:crypto";
import type { ApiRequest, ApiResponse } from "@dray/client";
import { bodyResponse } from "../http/response.ts";
import { acceptedType, contentResponse } from "./content.ts";
import type { OpenAPI } from "./openapi.ts";

const path = "/openapi/v2";
const json = "application/json";
const protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** As clients request it; the `@` is not allowed in media types. */
const deprecatedProtobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

interface Made {
  readonly json: Buffer;
  readonly hash: string;
  readonly modified: number;
}

/**
 * All served resources as one Swagger 2.0 document, for clients that do not read OpenAPI v3. Built on
 * request, and cached until the served resources change.
 */
export class Swagger {
  readonly #openAPI: OpenAPI;
  #made: { readonly of: readonly unknown[]; readonly document: Promise<Made> } | undefined;

  constructor(openAPI: OpenAPI) {
    this.#openAPI = openAPI;
  }

  /** Responds to `/openapi/v2`; undefined for other paths. */
  async response(request: ApiRequest, requestPath: string): Promise<ApiResponse | undefined> {
    if (requestPath !== path) return undefined;
    const type = acceptedType(request, [json, deprecatedProtobuf, protobuf]);
    const headers = { "cache-control": "no-cache, private", vary: "Accept" };
    if (type === undefined) return bodyResponse(406, headers, () => "");
    const { json: bytes, hash, modified } = await this.#document();
    const content =
      type === json ? { bytes, mediaType: json } : { bytes: await binary(bytes), mediaType: protobuf };
    return contentResponse(request, { ...content, hash, modified }, headers);
  }

  #document(): Promise<Made> {
    const of = [this.#openAPI.groups, ...this.#openAPI.remoteParts];
    const known = this.#made;
    if (known?.of.length === of.length && known.of.every((each, index) => each === of[index]))
      return known.document;
    const document = this.#make();
    this.#made = { of, document };
    return document;
  }

  async #make(): Promise<Made> {
    const { swaggerDocument } = await import("@dray/api/openapi");
    const customKinds = this.#openAPI.customKinds();
    const own = swaggerDocument(await this.#openAPI.documents(), this.#openAPI.release, customKinds);
    const document = await this.#withRemote(own);
    const bytes = Buffer.from(JSON.stringify(document));
    const hash = createHash("sha512").update(bytes).digest("hex").toUpperCase();
    return { json: bytes, hash, modified: this.#openAPI.now() };
  }

  /**
   * Merges the documents of other servers, where possible: an invalid one must not make the own document
   * unavailable.
   */
  async #withRemote(own: object): Promise<object> {
    const parts = this.#openAPI.remoteParts;
    if (parts.length === 0) return own;
    const { withPart } = await import("../aggregation/swagger-part.ts");
    return parts.reduce((document, part) => withPart(document, part), own);
  }
}

async function binary(json: Buffer): Promise<Uint8Array> {
  const { swaggerProtobuf } = await import("@dray/api/openapi");
  return swaggerProtobuf(JSON.parse(json.toString()));
}
