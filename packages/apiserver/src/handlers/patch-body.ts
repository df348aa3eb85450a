import { StatusError } from "@dray/api";
import { JSONError, parseJSON } from "@dray/api/codec";
import { readBytes } from "../encoding/read-bytes.ts";
import { checkNesting } from "../json/nesting.ts";
import type { Pause } from "../request/large-work.ts";
import { bodyOf } from "./body.ts";
import type { Context } from "./context.ts";

/** JSON patch (RFC 6902), merge patch (RFC 7386), strategic merge patch, server-side apply. */
export type PatchKind = "json" | "merge" | "strategic" | "apply";

/** The body of a patch as it was read: a tree, or why there is none. */
export interface PatchBody {
  /** Throws 400 where the body cannot be read. */
  readonly value: () => unknown;
  /** About keys that are repeated in it. */
  readonly warnings: readonly string[];
}

/**
 * Reads the body of a patch. What is wrong with it is said when it is asked for: that the object is not there is said
 * before. Throws 413.
 */
export async function readPatchBody(context: Context, kind: PatchKind): Promise<PatchBody> {
  const body = bodyOf(context);
  if (!(body instanceof Uint8Array)) return { value: () => body, warnings: [] };
  try {
    if (kind === "apply") return await readApplied(body, context.pause);
    await context.pause?.();
    const tree = parseJSON(new TextDecoder("utf-8", { ignoreBOM: true }).decode(body));
    checkNesting(tree);
    return { value: () => tree, warnings: [] };
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

/** The strategic merge alone passes the error on as it is. */
function refusal(error: unknown, kind: PatchKind): unknown {
  if (!(error instanceof JSONError)) return error;
  return StatusError.of(
    "BadRequest",
    `${kind === "strategic" ? "" : "error decoding patch: "}${error.message}`,
  );
}

async function readApplied(body: Uint8Array, pause: Pause): Promise<PatchBody> {
  const refuse = (why: string): StatusError => StatusError.of("BadRequest", `error decoding YAML: ${why}`);
  let read: Awaited<ReturnType<typeof readBytes>>;
  try {
    read = await readBytes(body, "application/yaml", "", undefined, "meta.k8s.io/v1", pause);
  } catch (error) {
    if (!StatusError.is(error, "BadRequest")) throw error;
    throw refuse(`error converting YAML to JSON: ${error.message}`);
  }
  await pause?.();
  const { tree, duplicates } = read;
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
