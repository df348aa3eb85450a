import { type KubeObject, quoted } from "@dray/api";
import { decodePatched, encodeJSON } from "../codec.ts";
import { convert } from "../registry/conversion/index.ts";
import type { Registry } from "../registry/registry.ts";
import type { FieldValidation } from "../request/options.ts";
import { deepEqual, thaw } from "../storage/json.ts";
import type { AdmissionRequest } from "./admission.ts";
import type { Tree } from "./json-patch.ts";
import type { VersionedResource } from "./versions.ts";

/** What a webhook or a policy has made of an object cannot be read. */
export class UndecodableError extends Error {
  override readonly name = "UndecodableError";
}

export interface Replacement {
  /** The new object in `version`, as raw as a body. */
  readonly tree: Tree;
  readonly version: VersionedResource;
  readonly validation: FieldValidation;
}

/**
 * Gives the object of a request new content, with the defaults of what is new. Returns whether anything has changed.
 * Throws UndecodableError.
 */
export function replaceObject(
  request: AdmissionRequest,
  { tree, version, validation }: Replacement,
  registry: Registry,
): boolean {
  if (request.object === undefined) return false;
  const kind = request.kind === undefined ? version.served : version.kind;
  let decoded: KubeObject;
  try {
    decoded = decodePatched(tree, kind, { ...registry.decoding(validation), keepsNulls: true }).object;
  } catch (error) {
    // Only the reason: the rest of the message is about the patch of a client.
    throw new UndecodableError((error as Error).message.split(`${quoted(encodeJSON(tree))}: `).at(-1)!);
  }
  const next = request.kind === undefined ? convert(decoded, version.served, version.served.stored) : decoded;
  if (deepEqual(next, request.object)) return false;
  replaceContent(request.object, thaw(next));
  return true;
}

/** The object itself stays: others hold on to it. */
function replaceContent(object: KubeObject, next: KubeObject): void {
  for (const key of Object.keys(object)) delete (object as unknown as Record<string, unknown>)[key];
  Object.assign(object, next);
}
