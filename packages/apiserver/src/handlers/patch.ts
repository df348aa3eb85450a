import { type KubeObject, StatusError } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { decodePatched, decodeTree } from "../codec.ts";
import {
  apply,
  jsonPatch,
  jsonPatchWarnings,
  mergePatch,
  type ObjectType,
  strategicMergePatch,
} from "../patch/index.ts";
import { convert } from "../registry/conversion/index.ts";
import { ensureNamespace } from "../registry/metadata.ts";
import type { UpdateRules } from "../registry/registry.ts";
import { objectForms, objectResponse } from "../representation.ts";
import { type WriteOptions, writeOptions } from "../request/options.ts";
import { thaw } from "../storage/json.ts";
import { bodyOf } from "./body.ts";
import { accepted, type Context, headersOf, tableOptions } from "./context.ts";
import { writeOf } from "./write.ts";

export type PatchKind = "json" | "merge" | "strategic" | "apply";

const patchTypes: Readonly<Record<string, PatchKind>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
};

export type Plain = { readonly [key: string]: unknown };

/** Which of the four kinds of patches the body is. Throws 415. */
export function patchKind(context: Context): PatchKind {
  const header = context.request.headers["content-type"] ?? "";
  const kind = patchTypes[header.split(";", 1)[0]!.trim().toLowerCase()];
  if (kind !== undefined) return kind;
  const types = Object.keys(patchTypes).join(", ");
  throw StatusError.of(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${types}`,
  );
}

/** PATCH of an object or its status. */
export async function patchObject(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const wanted = accepted(context, objectForms);
  const kind = patchKind(context);
  const options = writeOptions(
    info.query,
    "PatchOptions",
    context.request.headers["user-agent"],
    kind === "apply",
  );
  const body = await readPatch(context, kind);
  const type = registry.managers.type(served);
  const rules: UpdateRules = {
    mayCreate: kind === "apply" && info.subresource === "",
    ownManagers: kind === "apply",
    async change(current) {
      if (current === undefined) return create(context, type, body, options);
      const live = convert(current, served.stored, served) as unknown as Plain;
      const raw = patched(context, kind, type, live, body, options);
      const object = decodePatched(raw, served, registry.decoding(options.fieldValidation));
      warn(context, object.warnings);
      checkIdentity(context, object.object);
      return convert(thaw(object.object), served, served.stored);
    },
  };
  const written = await registry.update(writeOf(context, options), rules);
  return objectResponse(
    written.created ? 201 : 200,
    written.object,
    served,
    wanted,
    tableOptions(context),
    headersOf(context),
  );
}

/** A patch may be tried again: its warnings are given once. */
function warn(context: Context, warnings: readonly string[]): void {
  for (const text of warnings) if (!context.warnings.includes(text)) context.warnings.push(text);
}

export async function readPatch(context: Context, kind: PatchKind): Promise<unknown> {
  const body = bodyOf(context);
  const { value, warnings } = await decodeTree(
    body,
    kind === "apply" ? "application/yaml" : "application/json",
    kind,
  );
  warn(context, warnings);
  return value;
}

/** The new object, as raw as a body: what the patch makes of the live one. */
export function patched(
  context: Context,
  kind: PatchKind,
  type: ObjectType,
  live: Plain,
  body: unknown,
  options: WriteOptions,
): Plain {
  switch (kind) {
    case "json": {
      if (options.fieldValidation !== "Ignore") warn(context, jsonPatchWarnings(body));
      return jsonPatch(live, body);
    }
    case "merge":
      return mergePatch(live, body);
    case "strategic":
      return strategicMergePatch(live, body, type);
    case "apply":
      return apply({
        live,
        applied: body as Plain,
        manager: options.fieldManager,
        force: options.force,
        type,
        subresource: context.info.subresource,
        now: context.registry.now(),
      });
  }
}

/** Server-side apply of what is not there yet. */
async function create(
  context: Context,
  type: ObjectType,
  body: unknown,
  options: WriteOptions,
): Promise<KubeObject> {
  const { info, served, registry } = context;
  const raw = apply({
    live: undefined,
    applied: body as Plain,
    manager: options.fieldManager,
    force: options.force,
    type,
    subresource: info.subresource,
    now: registry.now(),
  });
  const { object, warnings } = decodePatched(raw, served, registry.decoding(options.fieldValidation));
  warn(context, warnings);
  object.metadata.name ||= info.name;
  checkIdentity(context, object);
  return convert(thaw(object), served, served.stored);
}

function checkIdentity(context: Context, object: KubeObject): void {
  const { info, served } = context;
  // A patch cannot move a cluster-scoped object into a namespace, nor is trying an error.
  if (!served.namespaced) delete object.metadata.namespace;
  ensureNamespace(served, info.namespace, object);
  const { name } = object.metadata;
  if (name !== info.name) {
    throw StatusError.of(
      "BadRequest",
      `the name of the object (${name}) does not match the name on the URL (${info.name})`,
    );
  }
}
