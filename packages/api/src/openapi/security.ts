import type { JSONObject } from "./json.ts";

/** How requests say who sends them, as both versions of OpenAPI write it. */
export const securitySchemes: JSONObject = {
  BearerToken: {
    type: "apiKey",
    description: "Bearer Token authentication",
    name: "authorization",
    in: "header",
  },
};
