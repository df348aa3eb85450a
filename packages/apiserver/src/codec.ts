import { createRequire } from "node:module";
import { apiVersionOf, type FieldError, invalid, type KubeObject, quoted, StatusError } from "@dray/api";
import {
  type BodyType,
  type DecodedBody,
  decodeBody,
  encodeJSON,
  kindOf,
  type RawBody,
  readBody,
} from "@dray/api/codec";
import { setDefaults } from "@dray/api/defaults";
import type { KindRow } from "@dray/api/schema";
import { normalise } from "./registry/normalise.ts";
import type { FieldValidation } from "./request/options.ts";

export { encodeJSON, encodeProtobuf, protobufWatchFrame } from "@dray/api/codec";

export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface Decoded {
  /** With its defaults; may be changed. */
  readonly object: KubeObject;
  readonly warnings: readonly string[];
}

export interface DecodeOptions {
  readonly validation: FieldValidation;
  /** RFC 3339: what fields that default to the time get. */
  readonly now: string;
  /** Release whose fields are known. */
  readonly release?: string;
}

/** Kinds of the meta group: their types are known to every group. */
const metaKinds = new Set(["DeleteOptions"]);

/** The row of a kind in the schema. Throws a TypeError for one that it lacks. */
export function rowOf(kind: Kind): KindRow {
  const row = kindOf(kind.group, kind.version, kind.kind);
  if (row) return row;
  if (!metaKinds.has(kind.kind)) throw new TypeError(`the schema has no ${apiVersionOf(kind)} ${kind.kind}`);
  return { ...kind, type: `meta/v1.${kind.kind}`, resource: "", namespaced: false };
}

/** Reads a request body that must hold an object of `kind`. Throws 400. */
export async function decode(
  body: Uint8Array | object,
  contentType: BodyType,
  kind: Kind,
  options: DecodeOptions,
): Promise<Decoded> {
  const raw =
    body instanceof Uint8Array
      ? await readBody(body, contentType, kind.kind, options.release, apiVersionOf(kind))
      : rawObject(body);
  const row = rowOf(kind);
  const decoded = decodeBody(metaKinds.has(kind.kind) ? anyVersion(raw) : raw, row, options.release);
  if (decoded.problems.length > 0 && options.validation === "Strict") {
    throw StatusError.of(
      "BadRequest",
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: strict decoding error: ${decoded.problems.join(", ")}`,
    );
  }
  return finished(decoded, kind, options);
}

/** Options are sent in the version of whatever they are about. */
function anyVersion(raw: RawBody): RawBody {
  if (typeof raw.tree !== "object" || raw.tree === null) return raw;
  const { apiVersion: _, ...tree } = raw.tree as { apiVersion?: unknown };
  return { ...raw, tree };
}

function rawObject(tree: object): RawBody {
  return { tree, duplicates: [], typed: false };
}

/** What a patch has made, which may be as wrong as any body. Throws 400, and 422 for what strict validation refuses. */
export function decodePatched(
  raw: { readonly [key: string]: unknown },
  kind: Kind,
  options: DecodeOptions,
): Decoded {
  const refuse = (detail: string): StatusError => {
    const error: FieldError = { type: "Invalid", path: "patch", value: quoted(encodeJSON(raw)), detail };
    return invalid({ group: "", kind: "" }, "", [error]);
  };
  const { apiVersion, kind: name } = raw;
  if (apiVersion !== apiVersionOf(kind) || name !== kind.kind) {
    throw refuse(`the object is of another kind: ${String(apiVersion)} ${String(name)}`);
  }
  let decoded: DecodedBody;
  try {
    decoded = decodeBody(rawObject(raw), rowOf(kind), options.release);
  } catch (error) {
    if (!StatusError.is(error, "BadRequest")) throw error;
    throw refuse(error.message.replace(/^.*? cannot be handled as an? \w+: /, ""));
  }
  if (decoded.problems.length > 0 && options.validation === "Strict") {
    throw refuse(`strict decoding error: ${decoded.problems.join(", ")}`);
  }
  return finished(decoded, kind, options);
}

function finished(decoded: DecodedBody, kind: Kind, options: DecodeOptions): Decoded {
  const object = decoded.object as unknown as KubeObject;
  normalise(kind, object);
  setDefaults(kind.group, kind.version, kind.kind, object, options.now);
  return { object, warnings: options.validation === "Ignore" ? [] : decoded.warnings };
}

/** The body of a patch, of no type yet. Throws 400. */
export async function decodeTree(
  body: Uint8Array | object,
  contentType: BodyType,
  kind: string,
): Promise<{ readonly value: unknown; readonly warnings: readonly string[] }> {
  if (!(body instanceof Uint8Array)) return { value: body, warnings: [] };
  const { tree, duplicates } = await readBody(body, contentType, kind);
  return { value: tree, warnings: duplicates };
}

let yaml: typeof import("yaml") | undefined;

/** YAML text with sorted keys. */
export function encodeYAML(object: object): string {
  // Loaded when it is first needed, and at once: an answer is encoded when its bytes are asked for.
  yaml ??= createRequire(import.meta.url)("yaml") as typeof import("yaml");
  return yaml.stringify(object, {
    sortMapEntries: true,
    singleQuote: true,
    indentSeq: false,
    lineWidth: 80,
    version: "1.1",
  });
}
