export type { CustomKind } from "./custom-definition.ts";
export {
  type OpenAPIDocument,
  type OpenAPIRequest,
  openAPIDocument,
} from "./document.ts";
export type { JSONObject, JSONValue } from "./json.ts";
export { schemaName } from "./names.ts";
export type { OpenAPIResource, OpenAPISubresource } from "./resources.ts";
export { fixedDocuments, rootDocument } from "./root-document.ts";
export type { CustomSchema } from "./schemas.ts";
export { swaggerDocument } from "./swagger.ts";
export { swaggerProtobuf } from "./swagger-protobuf.ts";
