import { type KubeObject, quoted } from "@dray/api";
import { encodeJSON, JSONError, parseJSON } from "@dray/api/codec";
import { decodePatched } from "../../codec.ts";
import { jsonPatch } from "../../patch/index.ts";
import { convert } from "../../registry/conversion/index.ts";
import type { Registry } from "../../registry/registry.ts";
import { deepEqual, thaw } from "../../storage/json.ts";
import type { AdmissionRequest } from "../admission.ts";
import { objectsIn, type VersionedResource } from "../versions.ts";
import { CallFailure, internalError } from "./errors.ts";
import type { WebhookPatch } from "./verdict.ts";

type Tree = { readonly [key: string]: unknown };

/**
 * Applies the patch of a webhook to the object of a request, in the version that the webhook was sent, with the
 * defaults of what is new. Answers whether anything has changed. Throws CallFailure, or 500 where the patch does not
 * fit.
 */
export function applyPatch(
  { type, text }: WebhookPatch,
  request: AdmissionRequest,
  version: VersionedResource,
  webhook: string,
  registry: Registry,
): boolean {
  const operations = readOperations(text);
  if (operations.length === 0) return false;
  if (type !== "JSONPatch") throw new CallFailure(`unsupported patch type ${quoted(type)}`);
  const { object } = objectsIn(request, version);
  if (object === undefined || request.object === undefined) {
    const what = "attempted to modify the object, which is not supported for this operation";
    throw internalError(`admission webhook ${quoted(webhook)} ${what}`);
  }
  const patched = patchedTree(object as unknown as Tree, operations);
  const kind = request.kind === undefined ? version.served : version.kind;
  let decoded: KubeObject;
  try {
    decoded = decodePatched(patched, kind, { ...registry.decoding("Ignore"), keepsNulls: true }).object;
  } catch (error) {
    // Of the message that a client is told of its own patch only what is wrong.
    throw internalError((error as Error).message.split(`${quoted(encodeJSON(patched))}: `).at(-1)!);
  }
  const next = request.kind === undefined ? convert(decoded, version.served, version.served.stored) : decoded;
  if (deepEqual(next, request.object)) return false;
  replaceContent(request.object, thaw(next));
  return true;
}

function readOperations(text: string): readonly Tree[] {
  try {
    const operations = parseJSON(text);
    if (!Array.isArray(operations)) throw undecodable(operations, "Patch");
    // Null decodes: as an operation without anything in it.
    return operations.map((operation: unknown) => {
      if (typeof operation === "object" && !Array.isArray(operation)) return (operation ?? {}) as Tree;
      throw undecodable(operation, "Operation");
    });
  } catch (error) {
    if (!(error instanceof JSONError)) throw error;
    throw new CallFailure(`received undecodable patch in webhook response: ${error.message}`);
  }
}

function undecodable(value: unknown, type: string): JSONError {
  const form = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return new JSONError(`json: cannot unmarshal ${form} into Go value of type jsonpatch.${type}`, 0);
}

/** Operation by operation, so that the one that does not fit can be named. */
function patchedTree(object: Tree, operations: readonly Tree[]): Tree {
  let tree = object;
  for (const operation of operations) {
    try {
      tree = jsonPatch(tree, [operation]);
    } catch {
      throw internalError(patchProblem(tree, operation));
    }
  }
  return tree;
}

/** Why an operation does not apply, in the words of the library that upstream uses. */
function patchProblem(tree: Tree, { op, path, from }: Tree): string {
  const text = String(path ?? "");
  const segments = text.split("/").slice(1);
  const key = segments.at(-1) ?? "";
  const hasParent = segments.length > 0 && exists(tree, segments.slice(0, -1));
  switch (op) {
    case "add":
      return `add operation does not apply: doc is missing path: "${text}": missing value`;
    case "remove":
      return hasParent
        ? `error in remove for path: '${text}': Unable to remove nonexistent key: ${key}: missing value`
        : `remove operation does not apply: doc is missing path: "${text}": missing value`;
    case "replace":
      return `replace operation does not apply: doc is missing ${hasParent ? "key" : "path"}: ${text}: missing value`;
    case "test":
      return `testing value ${text} failed: test failed`;
    case "move":
    case "copy":
      return `${op} operation does not apply: doc is missing from path: ${String(from ?? "")}: missing value`;
    default:
      return `Unexpected kind: ${String(op ?? "unknown")}`;
  }
}

function exists(tree: unknown, path: readonly string[]): boolean {
  let value = tree;
  for (const segment of path) {
    const key = segment.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Tree)[key];
  }
  return typeof value === "object" && value !== null;
}

/** The object itself stays: others hold on to it. */
function replaceContent(object: KubeObject, next: KubeObject): void {
  for (const key of Object.keys(object)) delete (object as unknown as Record<string, unknown>)[key];
  Object.assign(object, next);
}
