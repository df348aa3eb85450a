import type { JSONObject } from "@dray/api/openapi";
import { type FetchOptions, fetchDocument } from "./availability.ts";
import type { RemoteService } from "./back-end.ts";
import { type Swagger, swaggerOf } from "./swagger-part.ts";
import { convertedSwagger } from "./swagger-to-v3.ts";

/** The OpenAPI documents of a back end about the version of one APIService. */
export interface RemoteOpenAPI {
  /** Its list of OpenAPI v3 documents, by path below `/openapi/v3`; empty if it has none. */
  readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
  /** The version's part of its OpenAPI v2 document. */
  readonly swagger?: Swagger;
  /** For a back end without OpenAPI v3: the document converted from its OpenAPI v2. */
  readonly converted?: Buffer;
  /** ETag of the whole OpenAPI v2 document. */
  readonly etag?: string;
}

/** Timeout in milliseconds for one document. */
const timeout = 60_000;

/**
 * Reads the OpenAPI documents of a back end. Missing documents are left out; rejects if it cannot be reached.
 *
 * Upstream: staging/src/k8s.io/kube-aggregator/pkg/controllers/openapi and openapiv3
 */
export async function readOpenAPI(
  service: RemoteService,
  known: RemoteOpenAPI | undefined,
  fetchOptions: FetchOptions,
): Promise<RemoteOpenAPI> {
  const slow = { ...fetchOptions, timeout };
  const paths = await pathsOf(service, slow);
  const { swagger, etag } = await swaggerFrom(service, known, slow);
  const read = {
    paths: paths ?? {},
    ...(swagger === undefined ? {} : { swagger }),
    ...(etag === undefined ? {} : { etag }),
  };
  if (paths === undefined && swagger !== undefined) {
    const same = swagger === known?.swagger ? known.converted : undefined;
    return { ...read, converted: same ?? Buffer.from(JSON.stringify(convertedSwagger(swagger))) };
  }
  const isSame = swagger === known?.swagger && JSON.stringify(read.paths) === JSON.stringify(known?.paths);
  return isSame && known !== undefined ? known : read;
}

/**
 * Returns the entries of the group and the version in the list of OpenAPI v3 documents; undefined if there is
 * no list.
 */
async function pathsOf(
  service: RemoteService,
  fetchOptions: FetchOptions,
): Promise<RemoteOpenAPI["paths"] | undefined> {
  const { group = "", version = "" } = service.spec;
  const address = fetchOptions.backEnds.address(service);
  const { status, text } = await fetchDocument(service, address, { path: "/openapi/v3" }, fetchOptions);
  if (status === 404) return undefined;
  if (status !== 200) throw new Error(`the server answered ${status} to /openapi/v3`);
  // Other servers may write null.
  const { paths } = JSON.parse(text) as { paths?: RemoteOpenAPI["paths"] | null };
  const own = [`apis/${group}`, `apis/${group}/${version}`];
  return Object.fromEntries(Object.entries(paths ?? {}).filter(([path]) => own.includes(path)));
}

/** Returns the version's part of OpenAPI v2; parsed again only if the document has changed. */
async function swaggerFrom(
  service: RemoteService,
  known: RemoteOpenAPI | undefined,
  fetchOptions: FetchOptions,
): Promise<Pick<RemoteOpenAPI, "swagger" | "etag">> {
  const address = fetchOptions.backEnds.address(service);
  const tag: Record<string, string> = known?.etag === undefined ? {} : { "if-none-match": known.etag };
  const { status, headers, text } = await fetchDocument(
    service,
    address,
    { path: "/openapi/v2", headers: tag },
    fetchOptions,
  );
  if (status === 304 && known !== undefined) return known;
  if (status === 404) return {};
  if (status !== 200) throw new Error(`the server answered ${status} to /openapi/v2`);
  const { group = "", version = "" } = service.spec;
  const { etag } = headers;
  // Another server's: it is checked by its encoding below.
  const swagger = swaggerOf(JSON.parse(text) as Swagger, `/apis/${group}/${version}/`);
  // A document that cannot be encoded must not become part of the server's own.
  const { swaggerProtobuf } = await import("@dray/api/openapi");
  swaggerProtobuf(swagger as JSONObject);
  return { swagger, ...(etag === undefined ? {} : { etag }) };
}
