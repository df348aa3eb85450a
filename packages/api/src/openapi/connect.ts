import type { JSONObject } from "./json.ts";

const proxied = ["get", "put", "post", "delete", "options", "head", "patch"];

/** A subresource that connects to something, and its operation ids. */
export interface Connection {
  /** `exec`, `proxy` */
  readonly name: string;
  /** `Pod` */
  readonly parent: string;
  /** Kind of the options in the query: `PodExecOptions`. */
  readonly options: { readonly group: string; readonly version: string; readonly kind: string };
  /** `connectCoreV1GetNamespacedPodExec` and its tag, of `GetNamespacedPodExec`. */
  readonly identity: (what: string) => JSONObject;
  readonly namespaced: boolean;
}

/**
 * The operations of a subresource that passes requests on: for every method, the response comes from
 * another server.
 */
export function connectOperations(connection: Connection, suffix = ""): JSONObject {
  const { name, parent, options, identity, namespaced } = connection;
  const methods = name === "proxy" ? proxied : ["get", "post"];
  const named = `${namespaced ? "Namespaced" : ""}${parent}${capital(name)}${suffix}`;
  return Object.fromEntries(
    methods.map((method) => [
      method,
      {
        description: `Passes ${method.toUpperCase()} requests on: ${name} of an object of kind ${parent}.`,
        ...identity(`${capital(method)}${named}`),
        responses: {
          "200": { description: "OK", content: { "*/*": { schema: { type: "string" } } } },
          "401": { description: "Unauthorized" },
        },
        "x-kubernetes-action": "connect",
        "x-kubernetes-group-version-kind": options,
      },
    ]),
  );
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
