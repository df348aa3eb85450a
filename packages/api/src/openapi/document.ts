import type { JSONObject } from "./json.ts";
import { PathSet } from "./operations.ts";
import type { OpenAPIResource } from "./resources.ts";
import { SchemaSet } from "./schemas.ts";
import { securitySchemes } from "./security.ts";

export interface OpenAPIRequest {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly OpenAPIResource[];
  /** `1.36`: fields that this release does not have are left out. */
  readonly kubernetesVersion: string;
  /** Names of the struct types that server-side apply replaces as a whole wherever they stand. */
  readonly atomicTypes: ReadonlySet<string>;
}

export interface OpenAPIDocument extends JSONObject {
  readonly openapi: string;
  readonly info: JSONObject;
  readonly paths: JSONObject;
  readonly components: { readonly schemas: JSONObject; readonly securitySchemes?: JSONObject };
}

/**
 * The OpenAPI v3 document of one group and version, as a Kubernetes API server has it at
 * `/openapi/v3/apis/G/V`: paths for every verb, and the schemas of all types that they reach. The same
 * request gives the same document.
 */
export function openAPIDocument(request: OpenAPIRequest): OpenAPIDocument {
  const { group, version, kubernetesVersion } = request;
  const schemas = new SchemaSet(kubernetesVersion, { group, version }, request.atomicTypes);
  const paths = new PathSet(group, version, kubernetesVersion, schemas);
  for (const { row, custom } of request.resources) if (custom !== undefined) schemas.add(row, custom);
  const builtIn = request.resources.some(({ custom }) => custom === undefined);
  if (builtIn) paths.addRoot();
  for (const resource of request.resources) paths.add(resource);
  return {
    openapi: "3.0.0",
    info: builtIn
      ? { title: "Kubernetes", version: kubernetesVersion }
      : { title: "Kubernetes CRD Swagger", version: "v0.1.0" },
    paths: paths.all(),
    components: { schemas: schemas.all(), ...(builtIn ? { securitySchemes } : {}) },
  };
}
