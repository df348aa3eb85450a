import { quoted } from "@dray/api";
import { JSONError, parseJSONTree, type TextNotes, TooManyValuesError } from "@dray/api/codec";
import { fieldsIn } from "../../json/values.ts";
import type { ObjectReader } from "../../read/objects.ts";
import { checkValues, maxBodyValues } from "../../request/body-limit.ts";
import { CallFailure, internalError } from "../../webhook/errors.ts";
import type { AdmissionRequest } from "../admission.ts";
import { applyInPieces, OperationError, type Tree } from "../json-patch.ts";
import { replaceObject, UndecodableError } from "../mutated-object.ts";
import { objectsIn, type VersionedResource } from "../versions.ts";
import type { WebhookPatch } from "./verdict.ts";

/**
 * Applies the patch of a webhook to the object of a request, in the version that the webhook received, with
 * defaults for new fields. Returns whether anything has changed. Throws CallFailure, 500 if the patch does
 * not apply, or 413 if the object grows too large.
 */
export async function applyPatch(
  { type, text }: WebhookPatch,
  request: AdmissionRequest,
  { version, webhook }: { readonly version: VersionedResource; readonly webhook: string },
  reader: ObjectReader,
): Promise<boolean> {
  const { operations, notes } = readOperations(text);
  if (operations.length === 0) return false;
  if (type !== "JSONPatch") throw new CallFailure(`unsupported patch type ${quoted(type)}`);
  const { object } = objectsIn(request, version);
  if (object === undefined || request.object === undefined) {
    const what = "attempted to modify the object, which is not supported for this operation";
    throw internalError(`admission webhook ${quoted(webhook)} ${what}`);
  }
  try {
    await request.pause?.();
    const tree = await applyInPieces(fieldsIn(object), operations, request.pause);
    checkValues(tree, `the object that admission webhook ${quoted(webhook)} returns`);
    await request.pause?.();
    return replaceObject(request, { tree, version, validation: "Ignore", notes }, reader);
  } catch (error) {
    if (!(error instanceof OperationError || error instanceof UndecodableError)) throw error;
    throw internalError(error.message);
  }
}

interface PatchText {
  readonly operations: readonly Tree[];
  /** Notes of the parser. */
  readonly notes: TextNotes;
}

function readOperations(text: string): PatchText {
  try {
    const { value, notes } = parseJSONTree(text, maxBodyValues);
    if (!Array.isArray(value)) throw undecodable(value, "Patch");
    // Null decodes to an operation without fields.
    const operations = value.map((operation: unknown) => {
      if (typeof operation === "object" && !Array.isArray(operation)) return (operation ?? {}) as Tree;
      throw undecodable(operation, "Operation");
    });
    return { operations, notes };
  } catch (error) {
    if (!(error instanceof JSONError || error instanceof TooManyValuesError)) throw error;
    throw new CallFailure(`received undecodable patch in webhook response: ${error.message}`);
  }
}

function undecodable(value: unknown, type: string): JSONError {
  const form = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return new JSONError(`json: cannot unmarshal ${form} into Go value of type jsonpatch.${type}`, 0);
}
