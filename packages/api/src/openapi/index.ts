export {
  type OpenAPIDocument,
  type OpenAPIRequest,
  type OpenAPIResource,
  type OpenAPISubresource,
  openAPIDocument,
} from "./document.ts";
export type { JSONObject, JSONValue } from "./json.ts";
export { schemaName } from "./names.ts";
export type { CustomSchema } from "./schemas.ts";
