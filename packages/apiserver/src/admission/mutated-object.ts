import { type KubeObject, quoted } from "@dray/api";
import type { TextNotes } from "@dray/api/codec";
import { type Decoded, decodePatched, encodeJSON } from "../encoding/codec.ts";
import { fieldsIn } from "../json/values.ts";
import { convert } from "../kinds/conversion.ts";
import type { ObjectReader } from "../read/objects.ts";
import type { FieldValidation } from "../request/options.ts";
import { deepEqual, thaw } from "../storage/json.ts";
import type { AdmissionRequest } from "./admission.ts";
import type { Tree } from "./json-patch.ts";
import type { VersionedResource } from "./versions.ts";

/** The object that a webhook or a policy returns cannot be decoded. */
export class UndecodableError extends Error {
  override readonly name = "UndecodableError";
}

export interface Replacement {
  /** The new object in `version`, as raw as a body. */
  readonly tree: Tree;
  readonly version: VersionedResource;
  readonly validation: FieldValidation;
  /** Notes of the text of a patch from which parts of the tree were parsed. */
  readonly notes?: TextNotes;
}

/**
 * Replaces the content of a request's object, with defaults for new fields. Returns whether anything has
 * changed. Lists and maps count as sent empty if they are empty in the tree, whatever the client has sent,
 * even if nothing else has changed. Throws UndecodableError.
 *
 * Upstream: apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go, callAttrMutatingHook
 */
export function replaceObject(
  request: AdmissionRequest,
  { tree, version, validation, notes }: Replacement,
  reader: ObjectReader,
): boolean {
  const { object: target } = request;
  if (target === undefined) return false;
  const kind = request.kind === undefined ? version.served : version.kind;
  let decoded: Decoded;
  try {
    decoded = decodePatched(tree, kind, { ...reader.decoding(validation), notes, keepsNulls: true });
  } catch (error) {
    // Keeps the reason only: the rest of the message is for patches of clients.
    const { message } = error as Error;
    throw new UndecodableError(message.split(`${quoted(encodeJSON(tree))}: `).at(-1) ?? message);
  }
  const { object, provenance } = decoded;
  const { served } = version;
  const next = request.kind === undefined ? convert(object, served, served.stored, provenance) : object;
  const hasChanged = !deepEqual(next, target);
  const content = thaw(next, provenance);
  replaceContent(target, content);
  // The texts of raw JSON are not adopted: upstream writes the patched object as compact JSON.
  request.provenance?.adoptEmpty(provenance);
  request.provenance?.forgetAllEmpty(target);
  request.provenance?.keepEmpty(target, content);
  return hasChanged;
}

/** Changes the object in place: others hold references to it. */
function replaceContent(object: KubeObject, next: KubeObject): void {
  const fields = fieldsIn(object);
  for (const key of Object.keys(fields)) delete fields[key];
  Object.assign(object, next);
}
