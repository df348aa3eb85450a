import type { JSONObject } from "./json.ts";

/** How requests authenticate, in the form of both versions of OpenAPI. */
export const securitySchemes: JSONObject = {
  BearerToken: {
    type: "apiKey",
    description: "Bearer Token authentication",
    name: "authorization",
    in: "header",
  },
};
