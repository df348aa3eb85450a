export type { CustomKind } from "./custom-definition.ts";
export {
  type OpenAPIDocument,
  type OpenAPIRequest,
  type OpenAPIResource,
  type OpenAPISubresource,
  openAPIDocument,
} from "./document.ts";
export type { JSONObject, JSONValue } from "./json.ts";
export { schemaName } from "./names.ts";
export { fixedDocuments, rootDocument } from "./root-document.ts";
export type { CustomSchema } from "./schemas.ts";
export { swaggerDocument } from "./swagger.ts";
export { swaggerProtobuf } from "./swagger-protobuf.ts";
