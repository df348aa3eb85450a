import type { OpenAPIDocument } from "./document.ts";
import { objectForms } from "./forms.ts";
import type { JSONObject } from "./json.ts";
import { groupWord } from "./names.ts";
import { SchemaSet } from "./schemas.ts";
import { securitySchemes } from "./security.ts";

interface Root {
  readonly description: string;
  readonly operationId: string;
  readonly tag: string;
  /** The type of the answer, as the table names it; undefined: text. */
  readonly type?: string;
  readonly forms: readonly string[];
}

/** The paths of a server that speak of no group and version, by the name of their document. */
const fixed: Readonly<Record<string, Root>> = {
  api: {
    description: "The versions of the core group.",
    operationId: "getCoreAPIVersions",
    tag: "core",
    type: "meta/v1.APIVersions",
    forms: objectForms,
  },
  apis: {
    description: "The groups that are served.",
    operationId: "getAPIVersions",
    tag: "apis",
    type: "meta/v1.APIGroupList",
    forms: objectForms,
  },
  version: {
    description: "Which release the server behaves as.",
    operationId: "getCodeVersion",
    tag: "version",
    type: "version.Info",
    forms: ["application/json"],
  },
  ".well-known/openid-configuration": {
    description: "Where the keys of service-account tokens are found.",
    operationId: "getServiceAccountIssuerOpenIDConfiguration",
    tag: "WellKnown",
    forms: ["application/json"],
  },
  "openid/v1/jwks": {
    description: "The public keys of service-account tokens.",
    operationId: "getServiceAccountIssuerOpenIDKeyset",
    tag: "openid",
    forms: ["application/jwk-set+json"],
  },
};

/** The documents of the paths that belong to no group. */
export const fixedDocuments: readonly string[] = Object.keys(fixed);

const gitFields = ["gitVersion", "gitCommit", "gitTreeState"];
const numbers = ["emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor"];
const versionName = "io.k8s.apimachinery.pkg.version.Info";
const required = ["major", "minor", ...gitFields, "buildDate", "goVersion", "compiler", "platform"];
const versionSchema: JSONObject = {
  type: "object",
  required,
  properties: Object.fromEntries([
    ...required.map((name) => [name, { type: "string", default: "" }] as const),
    ...numbers.map((name) => [name, { type: "string" }] as const),
  ]),
};

/**
 * The OpenAPI v3 document of a path that is not about one group and version: one of `fixedDocuments`, or
 * `apis/GROUP`. The same request gives the same document.
 */
export function rootDocument(name: string, kubernetesVersion: string): OpenAPIDocument {
  const root = fixed[name] ?? groupRoot(name.slice("apis/".length));
  const schemas = new SchemaSet(kubernetesVersion, { group: "", version: "v1" }, new Set());
  const schema = schemaOf(root.type, schemas);
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: kubernetesVersion },
    paths: {
      [`/${name}/`]: {
        get: {
          description: root.description,
          operationId: root.operationId,
          tags: [root.tag],
          responses: {
            "200": {
              description: "OK",
              content: Object.fromEntries(root.forms.map((form) => [form, { schema }])),
            },
            "401": { description: "Unauthorized" },
          },
        },
      },
    },
    components: {
      schemas: root.type === "version.Info" ? { [versionName]: versionSchema } : schemas.all(),
      securitySchemes,
    },
  };
}

function schemaOf(type: string | undefined, schemas: SchemaSet): JSONObject {
  if (type === undefined) return { type: "string" };
  return type === "version.Info" ? { $ref: `#/components/schemas/${versionName}` } : schemas.type(type);
}

function groupRoot(group: string): Root {
  const word = groupWord(group);
  return {
    description: "The versions of this group.",
    operationId: `get${word}APIGroup`,
    tag: `${word.charAt(0).toLowerCase()}${word.slice(1)}`,
    type: "meta/v1.APIGroup",
    forms: objectForms,
  };
}
