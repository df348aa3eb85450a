import { StatusError } from "@dray/api";
import { JSONError, parseJSONInPieces, type TextNotes } from "@dray/api/codec";
import { readBytes } from "../encoding/read-bytes.ts";
import { checkNesting } from "../json/nesting.ts";
import { checkValues, maxBodyValues, withinValueLimit } from "../request/body-limit.ts";
import type { Pause } from "../request/large-work.ts";
import { bodyOf } from "./body.ts";
import type { Context } from "./context.ts";

/** JSON patch (RFC 6902), merge patch (RFC 7386), strategic merge patch, server-side apply. */
export type PatchKind = "json" | "merge" | "strategic" | "apply";

/** The parsed body of a patch, or its error. */
export interface PatchBody {
  /** Throws 400 if the body is malformed. */
  readonly value: () => unknown;
  /** Notes of the JSON parser; absent for YAML. */
  readonly notes?: TextNotes;
  /** Warnings about repeated keys. */
  readonly warnings: readonly string[];
}

/**
 * Parses the body of a patch. Its error is thrown by `value`: that the object is missing is reported first.
 * Throws 413.
 */
export async function readPatchBody(context: Context, kind: PatchKind): Promise<PatchBody> {
  const body = bodyOf(context);
  if (!(body instanceof Uint8Array)) return { value: () => body, warnings: [] };
  try {
    if (kind === "apply") return await readApplied(body, context.pause);
    const { pause } = context;
    await pause?.();
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);
    const read = await withinValueLimit(() => parseJSONInPieces(text, maxBodyValues, pause));
    const { value: tree, notes, values } = read;
    checkValues(tree, "the patch", values);
    checkNesting(tree);
    return { value: () => tree, notes, warnings: [] };
  } catch (error) {
    const refused = refusal(error, kind);
    return {
      value() {
        throw refused;
      },
      warnings: [],
    };
  }
}

/** Only the strategic merge passes the error through unchanged. */
function refusal(error: unknown, kind: PatchKind): unknown {
  if (!(error instanceof JSONError)) return error;
  return StatusError.of(
    "BadRequest",
    `${kind === "strategic" ? "" : "error decoding patch: "}${error.message}`,
  );
}

async function readApplied(body: Uint8Array, pause: Pause): Promise<PatchBody> {
  const refuse = (reason: string): StatusError =>
    StatusError.of("BadRequest", `error decoding YAML: ${reason}`);
  let read: Awaited<ReturnType<typeof readBytes>>;
  try {
    const expected = { kind: "", version: undefined, apiVersion: "meta.k8s.io/v1" };
    read = await readBytes(body, "application/yaml", expected, pause);
  } catch (error) {
    if (!StatusError.is(error, "BadRequest")) throw error;
    throw refuse(`error converting YAML to JSON: ${error.message}`);
  }
  await pause?.();
  const { tree, duplicates, values } = read;
  checkValues(tree, "the patch", values);
  checkNesting(tree);
  if (tree !== null && (typeof tree !== "object" || Array.isArray(tree))) {
    const form = Array.isArray(tree) ? "array" : typeof tree === "boolean" ? "bool" : typeof tree;
    const shown = form === "bigint" ? "number" : form;
    throw refuse(
      `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${shown} into Go value of type map[string]interface {}`,
    );
  }
  return { value: () => tree ?? {}, warnings: duplicates };
}
