import { apiVersionOf, type KubeObject, quoted, StatusError } from "@dray/api";
import { encodeJSON, kindOf, structType, type TextNotes } from "@dray/api/codec";
import type { ApiResponse } from "@dray/client";
import { accepted } from "../encoding/accepted.ts";
import { type Decoded, type DecodeOptions, decodePatched } from "../encoding/codec.ts";
import { objectResponse, resourceForms } from "../encoding/representation.ts";
import { conflict, genericError } from "../errors/status.ts";
import { duplicateFields } from "../json/nesting.ts";
import { fieldsIn } from "../json/values.ts";
import { convert } from "../kinds/conversion.ts";
import type { ServedResource } from "../kinds/resources.ts";
import {
  apply,
  JsonPatch,
  jsonPatchWarnings,
  mergePatch,
  type ObjectType,
  restoreProblem,
  shownPatch,
  shownPatched,
  strategicMergePatch,
} from "../patch/index.ts";
import { writtenPaths } from "../patch/problem-order.ts";
import { checkValues } from "../request/body-limit.ts";
import { type WriteOptions, writeOptions } from "../request/options.ts";
import { inPieces } from "../request/pieces.ts";
import { ensureNamespace } from "../write/metadata.ts";
import type { UpdateRules } from "../write/registry.ts";
import { type Context, representation, warn } from "./context.ts";
import { type PatchKind, readPatchBody } from "./patch-body.ts";
import { checkName, writeOf } from "./write.ts";

const patchTypes: ReadonlyMap<string, PatchKind> = new Map([
  ["application/json-patch+json", "json"],
  ["application/merge-patch+json", "merge"],
  ["application/strategic-merge-patch+json", "strategic"],
  ["application/apply-patch+yaml", "apply"],
]);

export type Plain = { readonly [key: string]: unknown };

/** Returns which of the four kinds of patches the body is. Throws 415. */
export function patchKind(context: Context): PatchKind {
  const header = context.request.headers["content-type"] ?? "";
  const kind = patchTypes.get(header.split(";", 1)[0]!.trim());
  // A strategic merge needs type information that an OpenAPI schema does not have.
  const { schemaless } = context.served.facts;
  if (kind !== undefined && !(schemaless && kind === "strategic")) return kind;
  const types = [...patchTypes.keys()]
    .filter((type) => !schemaless || patchTypes.get(type) !== "strategic")
    .join(", ");
  // A type that no resource accepts is rejected by the router, with its own message.
  if (kind === undefined) throw genericError("UnsupportedMediaType", "415: Unsupported Media Type");
  throw StatusError.of(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${types}`,
  );
}

/** Handles PATCH of an object or its status. */
export async function patchObject(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const encoding = accepted(context, resourceForms);
  const kind = patchKind(context);
  const options = writeOptions(
    info.query,
    "PatchOptions",
    context.request.headers["user-agent"],
    kind === "apply",
  );
  const { value, notes, warnings } = await readPatchBody(context, kind);
  const type = registry.managers.type(served);
  const createMissing = async (): Promise<KubeObject> => {
    const body = value();
    await context.pause?.();
    return create(context, { type, body, options }, warnings);
  };
  const rules: UpdateRules = {
    ownManagers: kind === "apply",
    async change(current) {
      const body = value();
      await context.pause?.();
      const live = fieldsIn(convert(current, served.stored, served));
      const raw = withLiveKind(await patched(context, { kind, type, live, body, options }), live, kind);
      await context.pause?.();
      checkValues(raw, "the patched object");
      checkRepeatedKeys(context, options, warnings);
      await context.pause?.();
      const object = decodeOutcome(raw, live, {
        kind,
        body,
        served,
        decoding: { ...registry.decoding(options.fieldValidation), notes, keepsNulls: kind === "apply" },
        problems: patchProblems(kind, body, notes),
      });
      warn(context, object.warnings);
      context.provenance.adopt(object.provenance);
      checkIdentity(context, object.object);
      await context.pause?.();
      return convert(object.object, served, served.stored, context.provenance);
    },
    ...(kind === "apply" && info.subresource === "" ? { createMissing } : {}),
  };
  const written = await registry.update(writeOf(context, options), rules);
  return objectResponse(written.created ? 201 : 200, written.object, representation(context, encoding));
}

/** A strategic merge patches typed objects, whose kind stays; other patches may omit it. */
function withLiveKind(raw: Plain, live: Plain, kind: PatchKind): Plain {
  const { apiVersion, kind: name } = live;
  if (kind === "strategic") return { ...raw, apiVersion, kind: name };
  return { ...raw, apiVersion: raw["apiVersion"] ?? apiVersion, kind: raw["kind"] ?? name };
}

interface Patching {
  readonly kind: PatchKind;
  readonly body: unknown;
  readonly served: ServedResource;
  readonly decoding: DecodeOptions;
  readonly problems: readonly string[];
}

/** Returns the strict validation errors of the patch itself. Duplicates in an apply are warnings only. */
export function patchProblems(kind: PatchKind, body: unknown, notes: TextNotes | undefined): string[] {
  if (kind === "apply") return [];
  const duplicates = duplicateFields(body, notes);
  if (kind !== "json") return duplicates;
  return [...duplicates.map((problem) => `json patch ${problem}`), ...jsonPatchWarnings(body)];
}

const fromJSON = "error decoding from json: ";

/**
 * Decodes the result of a patch of `live`. Throws 422, which contains the patch or its result as the server
 * prints it.
 */
function decodeOutcome(raw: Plain, live: Plain, patching: Patching): Decoded {
  const { kind, body, served, decoding, problems } = patching;
  try {
    const written = kind === "json" ? writtenPaths(body) : [];
    return decodePatched(raw, servedAsSent(raw, served, decoding), { ...decoding, live, written }, problems);
  } catch (error) {
    if (!StatusError.is(error, "Invalid")) throw error;
    // A kind that is not in the schema table has no order of fields.
    const row = kindOf(served.group, served.version, served.kind);
    const outcome =
      row === undefined ? encodeJSON(inOrder(raw)) : shownPatched(raw, live, structType(row.type));
    const text = kind === "strategic" ? shownPatch(body) : outcome;
    const [before, after] = [quoted(encodeJSON(raw)), quoted(text)];
    const problem = kind === "strategic" && row ? restoreProblem(raw, structType(row.type)) : undefined;
    const replaced = (message: string): string => {
      const [start = "", ...rest] = message.split(before);
      if (problem !== undefined) return `${start}${after}: ${problem}`;
      const whole = [start, ...rest].join(after);
      // The converter reports the position of a JSON error.
      return kind === "strategic"
        ? whole.replace(/(?=illegal base64 data at input byte \d+$)/, fromJSON)
        : whole;
    };
    const { causes = [], ...details } = error.status.details ?? {};
    throw StatusError.of("Invalid", replaced(error.message), {
      ...details,
      causes: causes.map((cause) => ({ ...cause, message: replaced(cause.message ?? "") })),
    });
  }
}

/** Sorts the keys, as Go encodes maps. */
function inOrder(value: unknown): object {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value as object;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, inOrder((value as Plain)[key])]),
  );
}

/** The result of a patch may be an object of another kind, which is decoded as such before it is rejected. */
function servedAsSent(raw: Plain, served: ServedResource, decoding: DecodeOptions): ServedResource {
  const { apiVersion, kind } = raw;
  if (apiVersion !== apiVersionOf(served) || typeof kind !== "string" || kind === served.kind) return served;
  const other = kindOf(served.group, served.version, kind);
  if (other !== undefined) decodePatched(raw, other, decoding);
  return served;
}

export async function readPatch(
  context: Context,
  kind: PatchKind,
): Promise<{ readonly body: unknown; readonly notes?: TextNotes | undefined }> {
  const { value, notes, warnings } = await readPatchBody(context, kind);
  warn(context, warnings);
  return { body: value(), notes };
}

/** A patch of an object of this type. */
interface Patch {
  readonly kind: PatchKind;
  readonly type: ObjectType;
  readonly live: Plain;
  readonly body: unknown;
  readonly options: WriteOptions;
}

/** Returns the new object, as unvalidated as a body: the patch applied to the live one. */
export async function patched(context: Context, { kind, type, live, body, options }: Patch): Promise<Plain> {
  switch (kind) {
    case "json":
      return jsonPatched(context, live, body);
    case "merge":
      return mergePatch(live, body);
    case "strategic":
      return strategicMergePatch(live, body, type);
    case "apply":
      return applied(context, { type, live, body, options });
  }
}

/** Server-side apply to the live object, or to none. */
function applied(
  { registry, info, pause }: Context,
  { type, live, body, options }: Omit<Patch, "kind" | "live"> & { readonly live: Plain | undefined },
): Promise<Plain> {
  const { fieldManager: manager, force } = options;
  const parts = { type, live, applied: body as Plain, manager, force, subresource: info.subresource };
  const now = registry.now();
  return inPieces(pause, (step) => apply({ ...parts, now, step }));
}

async function jsonPatched({ pause }: Context, live: Plain, body: unknown): Promise<Plain> {
  const patch = new JsonPatch(live, body);
  while (patch.applyNext()) if (pause?.isDue()) await pause();
  return patch.result();
}

/** Repeated keys of an applied body are checked after the apply. Throws 400. */
function checkRepeatedKeys(context: Context, options: WriteOptions, repeated: readonly string[]): void {
  if (options.fieldValidation === "Warn") warn(context, repeated);
  if (options.fieldValidation !== "Strict" || repeated.length === 0) return;
  throw StatusError.of(
    "BadRequest",
    `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${repeated.join("\n  ")}`,
  );
}

/** Creates an object by server-side apply. */
async function create(
  context: Context,
  { type, body, options }: Pick<Patch, "type" | "body" | "options">,
  repeated: readonly string[],
): Promise<KubeObject> {
  const { info, served, registry } = context;
  const raw = await applied(context, { type, live: undefined, body, options });
  checkRepeatedKeys(context, options, repeated);
  await context.pause?.();
  const decoding = { ...registry.decoding(options.fieldValidation), keepsNulls: true };
  const { object, provenance, warnings } = decodePatched(raw, served, decoding);
  warn(context, warnings);
  context.provenance.adopt(provenance);
  checkName(info.name, object);
  checkIdentity(context, object);
  const { uid } = object.metadata;
  if (uid) {
    const reason = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(served, info.name, reason);
  }
  return convert(object, served, served.stored, context.provenance);
}

function checkIdentity(context: Context, object: KubeObject): void {
  const { info, served } = context;
  // A patch cannot move a cluster-scoped object into a namespace; the attempt is not an error.
  if (!served.namespaced) delete object.metadata.namespace;
  ensureNamespace(served, info.namespace, object);
  checkName(info.name, object);
}
